"""`nearkin hash`, `compare` and `recipe`: fingerprints on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import read_text, say, say_json, shown, warn
from nearkin.cli.options import (
    Bits,
    Inputs,
    Json,
    RecipeOption,
    Threads,
    recipe_of,
)
from nearkin.cli.reading import Reading, reads
from nearkin.errors import printable

if TYPE_CHECKING:
    from nearkin.recipe import Recipe

_HASH_EXAMPLE = "[bold]Example[/]\n\n  nearkin hash corpus.jsonl --id-column id --bits 64 | head"
_COMPARE_EXAMPLES = """
[bold]Examples[/]

  nearkin compare old.txt new.txt

  nearkin compare --text 'how are u?' 'how are you?'
"""
_RECIPE_EXAMPLE = "[bold]Example[/]\n\n  nearkin recipe 'word:3|count|xxh3|simhash:64'"


@reads()
def hash_(
    inputs: Inputs,
    reading: Reading,
    recipe: RecipeOption = None,
    bits: Bits = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Print the fingerprint of each document: id, tab, hexadecimal digits; `-` for one without any letter."""
    from nearkin.families.simhash import shape
    from nearkin.search.fingerprints import to_hex

    set_num_threads(threads)
    made = recipe_of(recipe, bits)
    with reading.reported(inputs) as corpus:
        for batch in corpus.batches():
            values, counts = made.core.fingerprints(batch.texts)
            digits = to_hex(shape(values, made), made.bits)
            for name, text, count in zip(batch.ids.to_list(), digits, counts.tolist(), strict=True):
                fingerprint = text if count else None
                if as_json:
                    say_json({"id": name, "fingerprint": fingerprint, "features": count})
                else:
                    say(f"{shown(name)}\t{fingerprint or '-'}")


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
    texts = (a, b) if text else (read_text(a), read_text(b))
    made = recipe_of(recipe, bits)
    fingerprints, distance = _fingerprints(texts, made)
    similarities = _similarities(texts, made)
    features = [made.features_of(value) for value in texts]
    differs = _differences(texts)
    only = [[name for name in features[i] if name not in features[1 - i]] for i in range(2)]
    if as_json:
        say_json(
            {
                "recipe": str(made),
                "fingerprints": fingerprints,
                "bits": made.bits,
                "distance": distance,
                **similarities,
                "differs": differs,
                "features": [len(side) for side in features],
                "only_a": only[0],
                "only_b": only[1],
            }
        )
        return
    far = "none: a text without any letter" if distance is None else f"{distance} of {made.bits} bits"
    shared = len(features[0]) - len(only[0])
    say(f"recipe       {made}")
    say(f"fingerprint  {fingerprints[0]}  a")
    say(f"             {fingerprints[1]}  b")
    say(f"distance     {far}")
    for measure, value in similarities.items():
        say(f"{measure.replace('_', ' '):<12} {value:.4f}")
    for rule, difference in differs.items():
        say(f"{rule:<12} differ: {printable(difference)}")
    say(f"features     {len(features[0])} in a, {len(features[1])} in b, {shared} in both")
    for side, missing in zip("ab", only, strict=True):
        say(f"only in {side}    {_shown(missing, show)}")


def _fingerprints(texts: tuple[str, str], recipe: Recipe) -> tuple[list[str], int | None]:
    """Two fingerprints in hexadecimal digits and their distance, None where a text has no feature."""
    import numpy as np

    from nearkin.families.simhash import fingerprint
    from nearkin.search.fingerprints import hamming, to_hex

    values, counts = fingerprint(list(texts), recipe, return_counts=True)
    distance = int(np.asarray(hamming(values[:1], values[1:]))[0]) if counts.all() else None
    return to_hex(values, recipe.bits), distance


def _similarities(texts: tuple[str, str], recipe: Recipe) -> dict[str, float]:
    """Every measure that verification knows, and those of other programs; warns of those left out."""
    from nearkin.errors import ParameterError
    from nearkin.pipeline.verify import Measure, baselines, similarity

    measures: tuple[Measure, ...] = ("jaccard", "containment", "indel")
    found: dict[str, float] = {}
    for measure in measures:
        try:
            found[measure] = float(similarity(list(texts), [0], [1], recipe=recipe, measure=measure)[0])
        except ParameterError as error:  # noqa: PERF203
            if measure != "indel":
                raise
            warn(f"indel is left out: {error}")
    others = baselines(*texts)
    if "levenshtein" not in others:
        warn("levenshtein is left out: the characters of both texts multiply to more than 2**34; compare parts")
    return {**found, **others}


def _differences(texts: tuple[str, str]) -> dict[str, str]:
    """What the texts differ in by each rule by which they do."""
    from nearkin.pipeline.differ import NAMES, differences

    found = {rule: differences([rule], [texts[0]], [texts[1]])[0] for rule in NAMES}
    return {rule: difference for rule, difference in found.items() if difference is not None}


def _shown(names: list[str], most: int) -> str:
    """The first few of the features, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(repr(name) for name in names[:most]) or "none") + more


def recipe(
    text: Annotated[str | None, typer.Argument(help="Recipe or preset; the default without it.")] = None,
    bits: Bits = None,
) -> None:
    """Print a recipe: its text form, its digest, and every slot as JSON."""
    made = recipe_of(text, bits)
    say(f"{made}\n{made.digest}\n{made.to_json()}")


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command("hash", epilog=_HASH_EXAMPLE)(hash_)
    app.command(epilog=_COMPARE_EXAMPLES)(compare)
    app.command(epilog=_RECIPE_EXAMPLE)(recipe)
