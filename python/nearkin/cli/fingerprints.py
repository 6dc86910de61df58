"""`nearkin hash`, `compare` and `recipe`: fingerprints on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import report_malformed
from nearkin.cli.options import (
    Bits,
    FormatOption,
    IdColumn,
    Inputs,
    Json,
    RecipeOption,
    Strict,
    TextColumn,
    Threads,
    recipe_of,
)

if TYPE_CHECKING:
    pass


def hash_(
    inputs: Inputs,
    text_column: TextColumn = "text",
    id_column: IdColumn = None,
    format: FormatOption = None,
    recipe: RecipeOption = None,
    bits: Bits = None,
    strict: Strict = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Print the fingerprint of each document: id, tabulator, hexadecimal digits; `-` for one without any letter."""
    from nearkin.families.simhash import shape
    from nearkin.io import open_corpus
    from nearkin.search.hamming import to_hex

    set_num_threads(threads)
    made = recipe_of(recipe, bits)
    with open_corpus(inputs, format=format, text_column=text_column, id_column=id_column, strict=strict) as corpus:
        for batch in corpus.batches():
            values, counts = made.core.fingerprints(batch.texts)
            for name, digits, count in zip(
                batch.ids.to_list(), to_hex(shape(values, made), made.bits), counts.tolist(), strict=True
            ):
                fingerprint = digits if count else None
                if as_json:
                    line = json.dumps({"id": name, "fingerprint": fingerprint, "features": count}, ensure_ascii=False)
                else:
                    line = f"{name}\t{fingerprint or '-'}"
                print(line)  # noqa: T201
        report_malformed(corpus)


def compare(
    a: Annotated[str, typer.Argument(help="A file, or a text with --text.")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    text: Annotated[bool, typer.Option("--text", help="The arguments are texts, not files.")] = False,
    recipe: RecipeOption = None,
    bits: Bits = None,
    show: Annotated[int, typer.Option(help="How many of the features that differ are shown.")] = 10,
    as_json: Json = False,
) -> None:
    """Show how alike two texts are: distance, similarities, and which features differ."""
    import numpy as np

    from nearkin.families.simhash import fingerprint
    from nearkin.pipeline.verify import baselines, similarity
    from nearkin.search.hamming import hamming, to_hex

    texts = [a, b] if text else [_read_text(a), _read_text(b)]
    made = recipe_of(recipe, bits)
    fingerprints, counts = fingerprint(texts, made, return_counts=True)
    hexadecimal = to_hex(fingerprints, made.bits)
    distance = int(np.asarray(hamming(fingerprints[:1], fingerprints[1:]))[0]) if counts.all() else None
    similarities = {
        measure: float(similarity(texts, [0], [1], recipe=made, measure=measure)[0])
        for measure in ("jaccard", "containment", "indel")
    }
    similarities.update(baselines(*texts))
    features = [made.features_of(value) for value in texts]
    only = [[name for name in features[i] if name not in features[1 - i]] for i in range(2)]
    if as_json:
        found = {
            "recipe": str(made),
            "fingerprints": hexadecimal,
            "bits": made.bits,
            "distance": distance,
            **similarities,
            "features": [len(side) for side in features],
            "only_a": only[0],
            "only_b": only[1],
        }
        print(json.dumps(found, ensure_ascii=False))  # noqa: T201
        return
    shared = len(features[0]) - len(only[0])
    lines = [
        f"recipe       {made}",
        f"fingerprint  {hexadecimal[0]}  a",
        f"             {hexadecimal[1]}  b",
        f"distance     {'none: a text without any letter' if distance is None else f'{distance} of {made.bits} bits'}",
        *(f"{measure.replace('_', ' '):<12} {value:.4f}" for measure, value in similarities.items()),
        f"features     {len(features[0])} in a, {len(features[1])} in b, {shared} in both",
    ]
    for name, missing in zip("ab", only, strict=True):
        shown = ", ".join(repr(feature) for feature in missing[:show])
        more = f" and {len(missing) - show} more" if len(missing) > show else ""
        lines.append(f"only in {name}    {shown or 'none'}{more}")
    print("\n".join(lines))  # noqa: T201


def _read_text(path: str) -> str:
    from nearkin.errors import InputError

    try:
        return Path(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 at byte {error.start}; convert it, with iconv say"
        raise InputError(f"{path}: {reason}", place=path, reason=reason) from error


def recipe(
    text: Annotated[str | None, typer.Argument(help="Recipe or preset; the default without it.")] = None,
    bits: Bits = None,
) -> None:
    """Print a recipe: its text form, its digest, and every slot as JSON."""
    made = recipe_of(text, bits)
    print(f"{made}\n{made.digest}\n{made.to_json()}")  # noqa: T201


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command("hash", epilog="[bold]Example[/]\n\n  nearkin hash corpus.jsonl --id-column id --bits 64 | head")(hash_)
    app.command(
        epilog="""
[bold]Examples[/]

  nearkin compare old.txt new.txt

  nearkin compare --text 'how are u?' 'how are you?'
"""
    )(compare)
    app.command(epilog="[bold]Example[/]\n\n  nearkin recipe 'word:3|count|xxh3|simhash:64'")(recipe)
