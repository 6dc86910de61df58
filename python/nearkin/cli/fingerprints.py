"""`nearkin text hash`, `compare`, `explain`, `recipe`, `keywords` and `idf`: what a recipe makes of texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from nearkin.cli.commands import Commands
from nearkin.cli.console import (
    display,
    listing_progress,
    progress_bars,
    read_arguments,
    read_input,
    read_text,
    say,
    say_json,
    say_result,
    say_row,
    warn,
)
from nearkin.cli.corpus import CorpusOptions
from nearkin.cli.options import Bits, Inputs, Json, KindOption, RecipeOption, opt, output_opt, parse_recipe
from nearkin.errors import bad_parameter
from nearkin.notebook import short

app = Commands()


@app.add("hash", threads=True)
def hash_(
    inputs: Inputs, reading: CorpusOptions, recipe: RecipeOption = None, bits: Bits = None, as_json: Json = False
) -> None:
    """Print the fingerprint of each document: id, tab, hexadecimal digits; `-` for a text without a letter or digit.

    Examples
    --------
    $ nearkin text hash corpus.jsonl --id-column id --bits 64
    a       132167164ab71624
    b       859519e0e303668f
    c       132167164ab71624
    d       5b6767144a32d686

    nearkin text hash corpus.jsonl --id-column id --bits 64 | head
    """
    from nearkin.families.simhash import as_fingerprints
    from nearkin.index.fingerprints import to_hex

    parsed = parse_recipe(recipe, bits)
    with listing_progress() as progress, reading.read(inputs, progress=progress) as corpus:
        for batch in corpus.batches():
            values, counts = parsed.core.fingerprints(batch.texts)
            digits = to_hex(as_fingerprints(values, parsed), parsed.bits)
            for name, text, count in zip(batch.ids.to_list(), digits, counts.tolist(), strict=True):
                fingerprint = text if count else None
                record = {"id": name, "fingerprint": fingerprint, "features": count}
                say_row(record, (name, fingerprint or "-"), as_json=as_json)


@app.add()
def compare(
    a: Annotated[str, typer.Argument(help="A text, or the path of an existing file; - for standard input.")],
    b: Annotated[str, typer.Argument(help="A second one.")],
    text: Annotated[bool, opt("The arguments are texts, not files of these names.", "--text")] = False,
    files: Annotated[bool, opt("The arguments are files.", "--files")] = False,
    recipe: RecipeOption = None,
    bits: Bits = None,
    kind: KindOption = None,
    as_json: Json = False,
) -> None:
    """Show how similar two texts are: distance, similarities, edits, other features.

    The aligned texts mark `[-deleted-]` and `{+inserted+}` characters.

    Examples
    --------
    $ nearkin text compare --text 'how are u?' 'how are you?'
    recipe       char:4|binary|xxh3|simhash:128
    fingerprint  000020dc8d06a183d4ec064b4ce4e252  a
                 041000fcb914208364e6564b6f450ad6  b
    distance     30 of 128 bits
    jaccard      0.4286
    containment  0.7500
    indel        0.9091
    dice         0.6000
    words        0.0000
    levenshtein  0.8333
    bigrams      0.8000
    trigrams     0.6667
    places       0.8182
    edits        2: 2 inserted, 0 deleted, 0 substituted
    common       8 characters in a row: 'how are '
    aligned      how are {+yo+}u?
    features     4 in a, 6 in b, 3 in both
    only in a    'areu'
    only in b    'arey', 'reyo', 'eyou'

    nearkin text compare old.txt new.txt
    """
    from nearkin.explain import parse_digest_recipe
    from nearkin.explain.comparison import compare as compare_texts

    if parse_digest_recipe(recipe) is not None:
        commands = "nearkin ssdeep compare A B or nearkin text explain --files --recipe ssdeep A B"
        raise bad_parameter("recipe", recipe, f"a recipe of texts; to compare fuzzy digests of files, use {commands}")
    read = read_arguments((a, b), text=text, files=files)
    first, second = (read_text(str(value)) if isinstance(value, Path) else value for value in read)
    given = recipe is None and bits is None
    result = compare_texts(first, second, None if given else parse_recipe(recipe, bits), kind)  # type: ignore[arg-type]
    for note in result.notes:
        warn(note)
    say_result(result, result.to_dict(), as_json=as_json)


@app.add()
def explain(
    text: Annotated[str, typer.Argument(help="A text, or the path of an existing file; - for standard input.")],
    other: Annotated[str | None, typer.Argument(help="A second one: show common and different steps.")] = None,
    text_only: Annotated[bool, opt("The arguments are texts, even if files of these names exist.", "--text")] = False,
    files: Annotated[bool, opt("The arguments are files.", "--files")] = False,
    recipe: RecipeOption = None,
    bits: Bits = None,
    as_json: Json = False,
) -> None:
    """Show every step from a text to its fingerprint: normalised text, features, weights, hashes, signs, sums, bits.

    With --recipe ssdeep, show the steps from a file to its fuzzy digest: reset points, block size, pieces and their
    characters.

    Examples
    --------
    $ nearkin text explain 'How are you?' --recipe simhash-pypi
    recipe       norm:none|case:lower|letters:python|char:4|count|md5|simhash:64
    text         How are you?
    normalised   howareyou
    features     6
      feature  count  weight  hash              signs
      howa         1       1  2f6580b5ae14a2ea  --+-++++-++--+-++-------+-...
      owar         1       1  7a95f98aa87d3098  -++++-+-+--+-+-++++++--++-...
      ware         1       1  b6594e182ab64f12  +-++-++--+-++--+-+--+++---...
    ...

    nearkin text explain 'How are you?' --bits 64
    nearkin text explain 'How are you?' 'how are u?' --recipe simhash-pypi
    nearkin text explain --files --recipe ssdeep old.bin new.bin
    """
    from nearkin.explain import explain as explain_steps
    from nearkin.explain import parse_digest_recipe

    digests = parse_digest_recipe(recipe)
    if digests is not None and bits is not None:
        raise bad_parameter("bits", bits, "a recipe of texts: digests of ssdeep have none")

    def read_value(value: str | Path) -> Any:
        """Return a text, or for ssdeep a path or bytes."""
        if digests is None:
            return read_text(str(value)) if isinstance(value, Path) else value
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        return read_input("-") if str(value) == "-" else value

    parsed: Any = parse_recipe(recipe, bits) if digests is None else digests
    read = read_arguments([text] if other is None else [text, other], text=text_only, files=files)
    first, second = [*map(read_value, read), None][:2]
    steps = explain_steps(first, parsed, other=second)
    say_result(steps, steps.to_dict(), as_json=as_json)


@app.add("show")
def show_recipe(
    text: Annotated[str | None, typer.Argument(help="Recipe or preset (default: the fingerprint recipe).")] = None,
    bits: Bits = None,
    length: Annotated[int | None, opt("Characters of a text: print how far edits move its SimHash.")] = None,
    edits: Annotated[int, opt("With --length: number of replaced characters.")] = 1,
) -> None:
    """Print a recipe: its text form, its digest, and every field as JSON.

    Examples
    --------
    $ nearkin recipe show 'word:3|count|xxh3|simhash:64'
    word:3|count|xxh3|simhash:64
    7f432406a1e2e608
    {"bits":64,"case":"fold","cut":"uax29","family":"simhash","features":"...

    nearkin recipe show 'char:4|count|xxh3|simhash:64' --length 100 --edits 2
    """
    from nearkin.recipe import PRESETS

    parsed = parse_recipe(text, bits)
    say(f"{parsed}\n{parsed.digest}\n{parsed.to_json()}")
    if length is not None:
        from nearkin.theory import SIMHASH_RECALL, codes_radius, expected_distance

        if (parsed.features, parsed.family, parsed.min_n) != ("char", "simhash", 0):
            raise bad_parameter("--length", length, "a SimHash of n-grams, such as char:4|binary|xxh3|simhash:64")
        mean = expected_distance(length, edits, parsed.bits, ngram=parsed.n)
        within = f"{SIMHASH_RECALL:.1%} within {codes_radius(mean / parsed.bits, parsed.bits, SIMHASH_RECALL)}"
        say(f"{length:,} characters, {edits:,} replaced: {mean:.1f} of {parsed.bits} bits differ, {within}")
    if text in (None, "default") and bits is None:
        document = f"{PRESETS['minhash']} (preset minhash; in dedup as many values as the bands need)"
        warn(f"fingerprint recipe, of text hash, compare and explain; document recipe, of dedup and stores: {document}")


@app.add(threads=True)
def keywords(
    inputs: Inputs,
    reading: CorpusOptions,
    recipe: RecipeOption = "zh-keywords",
    top: Annotated[str | None, opt("Number of words, a share such as 10%, or all.")] = None,
    as_json: Json = False,
) -> None:
    """Print the words of each document with the largest weights: id, word, weight, separated by tabs.

    The recipe defines words, weights and the number of words.

    Examples
    --------
    $ nearkin text keywords corpus.jsonl --id-column id --recipe word:1 --top 1
    a       the     1
    b       a       1
    c       the     1
    d       the     1

    nearkin text keywords news.jsonl --id-column id --top 5
    """
    parsed = parse_recipe(recipe)
    if top is not None:
        parsed = parsed.with_(top=top)
    with listing_progress() as progress, reading.read(inputs, progress=progress) as corpus:
        for batch in corpus.batches():
            for name, words in zip(batch.ids.to_list(), parsed.core.keywords(batch.texts), strict=True):
                if as_json:
                    say_json({"id": name, "keywords": words})
                    continue
                for word, weight in words:
                    say(f"{display(name)}\t{display(word)}\t{short(weight, 6)}")


@app.add(omit=["id_column"], threads=True)
def idf(
    inputs: Inputs,
    out: Annotated[Path, output_opt("File of the table.", "--out", "-o")],
    reading: CorpusOptions,
    recipe: RecipeOption = "zh-keywords",
    min_df: Annotated[int, opt("Minimum number of documents with a feature; others are dropped.")] = 1,
    as_json: Json = False,
) -> None:
    """Count the documents with each feature of a recipe, in one pass, and save the table.

    A recipe refers to the table by `idf:@FILE`.

    Examples
    --------
    $ nearkin recipe idf corpus.jsonl --out corpus.idf --min-df 2
    6 features of 4 documents in corpus.idf; digest ddb146d27fc7daa3

    nearkin recipe idf corpus.jsonl --out corpus.idf --recipe 'cut:script|word:1' --min-df 2
    """
    from nearkin.text.idf import Idf

    reading = replace(reading, id_column="none")
    with progress_bars(quiet=as_json) as progress, reading.read(inputs, progress=progress) as corpus:
        table = Idf.fit(corpus, parse_recipe(recipe), min_df=min_df, progress=progress)
    table.save(out)
    record = {"documents": table.documents, "features": len(table), "digest": table.digest, "out": str(out)}
    line = f"{len(table)} features of {table.documents} documents in {out}; digest {table.digest}"
    say_row(record, [line], as_json=as_json)
