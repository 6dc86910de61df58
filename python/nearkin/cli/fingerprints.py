"""`nearkin hash`, `compare`, `explain` and `recipe`: fingerprints on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import read_input, read_text, say, say_json, shown, warn
from nearkin.cli.options import (
    Bits,
    Inputs,
    Json,
    RecipeOption,
    Threads,
    recipe_of,
)
from nearkin.cli.reading import Reading, reads
from nearkin.cli.side_by_side import show_edits
from nearkin.errors import bad_parameter, printable

if TYPE_CHECKING:
    from nearkin.explain import DigestSteps, DigestStepsBeside, Steps, StepsBeside
    from nearkin.recipe import Recipe
    from nearkin.text.edits import Edits

_HASH_EXAMPLE = "[bold]Example[/]\n\n  nearkin hash corpus.jsonl --id-column id --bits 64 | head"
_COMPARE_EXAMPLES = """
[bold]Examples[/]

  nearkin compare old.txt new.txt

  nearkin compare --text 'how are u?' 'how are you?'
"""
_FOLD = 40
"""Characters of a long stretch that are shown at either end."""
_EXPLAIN_EXAMPLES = """
[bold]Examples[/]

  nearkin explain 'How are you?' --bits 64

  nearkin explain 'How are you?' 'how are u?' --recipe simhash-pypi

  nearkin explain --files --recipe ssdeep old.bin new.bin
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
    from nearkin.index.fingerprints import to_hex

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
    show: Annotated[int, typer.Option(min=0, help="How many of the features that differ are shown.")] = 10,
    as_json: Json = False,
) -> None:
    """Show how alike two texts are: distance, similarities, what was edited, and which features differ.

    On a terminal both texts stand beside each other, what was deleted in red, what was inserted in green.
    """
    _check_texts(recipe)
    texts = (a, b) if text else (read_text(a), read_text(b))
    made = recipe_of(recipe, bits)
    fingerprints, distance = _fingerprints(texts, made)
    similarities = _similarities(texts, made)
    features = [made.features_of(value) for value in texts]
    differs = _differences(texts)
    edited = _edits(texts)
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
                **_edits_of_json(*edited),
                "features": [len(side) for side in features],
                "only_a": only[0],
                "only_b": only[1],
            }
        )
        return
    none = "none: a text without any letter"
    far = none if distance is None else f"{distance} of {made.bits} bits"
    shared = len(features[0]) - len(only[0])
    say(f"recipe       {made}")
    for side, name in zip("ab", fingerprints, strict=True):
        say(f"{'fingerprint' if side == 'a' else '':<12} {name or 'none':<{made.bits // 4}}  {side}")
    say(f"distance     {far}")
    for measure, value in similarities.items():
        say(f"{measure.replace('_', ' '):<12} {none if value is None else f'{value:.4f}'}")
    for rule, difference in differs.items():
        say(f"{rule:<12} differ: {printable(difference)}")
    _show_edits(*edited)
    say(f"features     {len(features[0])} in a, {len(features[1])} in b, {shared} in both")
    for side, missing in zip("ab", only, strict=True):
        say(f"only in {side}    {_shown(missing, show)}")


def explain(
    text: Annotated[str, typer.Argument(help="A text; with --files a file of it, - for standard input.")],
    beside: Annotated[str | None, typer.Argument(help="Another one: what both share, and where they differ.")] = None,
    files: Annotated[bool, typer.Option("--files", help="The arguments are files, not texts.")] = False,
    recipe: RecipeOption = None,
    bits: Bits = None,
    as_json: Json = False,
) -> None:
    """Show every step from a text to its fingerprint: normalised text, features, weights, hashes, signs, sums, bits.

    With --recipe ssdeep from a file to its fuzzy digest: reset points, block size, pieces and their characters.
    """
    from nearkin.explain import digest_recipe
    from nearkin.explain import explain as explained

    given = (text,) if beside is None else (text, beside)
    digests = digest_recipe(recipe)
    steps: Steps | StepsBeside | DigestSteps | DigestStepsBeside
    if digests is not None:
        if bits is not None:
            raise bad_parameter("bits", bits, "a recipe of texts: digests of ssdeep have none")
        contents = [_bytes_of(one, files=files) for one in given]
        steps = explained(contents[0], digests, beside=None if beside is None else contents[1])
    else:
        made = recipe_of(recipe, bits)
        texts = [read_text(one) if files else one for one in given]
        steps = explained(texts[0], made) if beside is None else explained(texts[0], made, beside=texts[1])
    if as_json:
        say_json(steps.to_dict())
    else:
        say(str(steps))


def _bytes_of(given: str, *, files: bool) -> bytes | Path:
    """What ssdeep hashes: a file, standard input, or a text in UTF-8."""
    if not files:
        return given.encode("utf-8", "surrogateescape")
    return read_input(given) if given == "-" else Path(given)


def _check_texts(recipe: str | None) -> None:
    """Raise ParameterError for a recipe of files."""
    from nearkin.explain import digest_recipe

    if digest_recipe(recipe) is not None:
        files = "nearkin ssdeep compare A B or nearkin explain --files --recipe ssdeep A B"
        raise bad_parameter("recipe", recipe, f"a recipe of texts; fuzzy digests of files are compared by {files}")


def _fingerprints(texts: tuple[str, str], recipe: Recipe) -> tuple[list[str | None], int | None]:
    """Two fingerprints in hexadecimal digits and their distance, None where a text has no feature."""
    import numpy as np

    from nearkin.families.simhash import fingerprint
    from nearkin.index.fingerprints import hamming, to_hex

    values, counts = fingerprint(list(texts), recipe, return_counts=True)
    distance = int(np.asarray(hamming(values[:1], values[1:]))[0]) if counts.all() else None
    digits = [text if count else None for text, count in zip(to_hex(values, recipe.bits), counts.tolist(), strict=True)]
    return digits, distance


def _edits(texts: tuple[str, str]) -> tuple[Edits | None, str | None]:
    """What turns one text into the other, and the longest string of both; None, with a warning, for very long texts."""
    from nearkin.errors import ParameterError
    from nearkin.text.edits import common_substring, edits

    edited, common = None, None
    try:
        edited = edits(*texts)
    except ParameterError as error:
        warn(f"edits are left out: {error}")
    try:
        common = common_substring(*texts)
    except ParameterError as error:
        warn(f"the longest common string is left out: {error}")
    return edited, common


def _edits_of_json(edited: Edits | None, common: str | None) -> dict[str, object]:
    found: dict[str, object] = {}
    if edited is not None:
        pieces = [{"kind": piece.kind, "a": piece.a, "b": piece.b} for piece in edited.pieces]
        counts = {"insertions": edited.insertions, "deletions": edited.deletions, "substitutions": edited.substitutions}
        found["edits"] = {"distance": edited.distance, **counts, "pieces": pieces}
    return found if common is None else {**found, "common_substring": common}


def _show_edits(edited: Edits | None, common: str | None) -> None:
    """Counts, the longest common string, and both texts aligned: on a terminal in colour, elsewhere marked."""
    if edited is not None:
        counts = f"{edited.insertions} inserted, {edited.deletions} deleted, {edited.substitutions} substituted"
        say(f"edits        {edited.distance}: {counts}")
    if common is not None:
        say(f"common       {len(common)} characters in a row: '{printable(_folded(common))}'")
    if edited is not None:
        show_edits("aligned      ", [(piece.kind, _folded(piece.a), _folded(piece.b)) for piece in edited.pieces])


def _folded(text: str) -> str:
    """A long stretch without its middle."""
    if len(text) <= 2 * _FOLD:
        return text
    return f"{text[:_FOLD]} … {len(text) - 2 * _FOLD:,} characters … {text[-_FOLD:]}"


def _similarities(texts: tuple[str, str], recipe: Recipe) -> dict[str, float | None]:
    """Every measure that verification knows, and those of other programs; warns of those left out.

    Those of features are None where a text has none.
    """
    from nearkin.dedup.verify import Measure, baselines, similarity
    from nearkin.errors import ParameterError
    from nearkin.text.edits import positional_similarity

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
    of_features = {"dice": 2 * found["jaccard"] / (1 + found["jaccard"])}
    measured: dict[str, float | None] = {**found, **of_features, **others, "places": positional_similarity(*texts)}
    if not all(map(recipe.features_of, texts)):
        measured |= dict.fromkeys(("jaccard", "containment", "dice"))
    return measured


def _differences(texts: tuple[str, str]) -> dict[str, str]:
    """What the texts differ in by each rule by which they do."""
    from nearkin.dedup.distinguishers import NAMES, differences

    found = {rule: differences([rule], [texts[0]], [texts[1]])[0] for rule in NAMES}
    return {rule: difference for rule, difference in found.items() if difference is not None}


def _shown(names: list[str], most: int) -> str:
    """The first few of the features, and how many more there are."""
    if names and not most:
        return f"{len(names)}, not shown"
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
    app.command(epilog=_EXPLAIN_EXAMPLES)(explain)
    app.command(epilog=_RECIPE_EXAMPLE)(recipe)
