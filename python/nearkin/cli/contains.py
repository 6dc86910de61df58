"""`nearkin text contains`: known texts inside other texts, and their positions."""

from __future__ import annotations

from typing import Annotated

from nearkin.cli.commands import Commands, Options, OptionsOf
from nearkin.cli.console import listing_progress, progress_bars, say_row
from nearkin.cli.corpus import CorpusOptions
from nearkin.cli.options import Inputs, Json, KindOption, RecipeOption, opt, parse_recipe
from nearkin.dedup.config import DedupConfig
from nearkin.progress import mark_reference

app = Commands()


@app.add(threads=True)
def contains(
    inputs: Inputs,
    known: Annotated[
        list[str], opt("The known texts, read like the inputs; may be repeated.", group="Older documents")
    ],
    reading: CorpusOptions,
    matching: Annotated[Options, OptionsOf(DedupConfig, "threshold", "recall", show_defaults=False)],
    recipe: RecipeOption = None,
    kind: KindOption = None,
    as_json: Json = False,
) -> None:
    """Find known texts inside the inputs: input, known text, similarity, start, end, separated by tabs.

    Similarity is the share of the known text's features that the input has; the default threshold is 0.8. Start and end
    (exclusive) are characters of the input: the shortest stretch with nine tenths of the common features, extended on
    both sides while the texts agree. A known text at the threshold is found with probability 0.95, or --recall.

    Examples
    --------
    $ nearkin text contains pages.jsonl --known known.jsonl --id-column id
    page    motto   1.0000  22      65

    nearkin text contains src --format files --known licences
    nearkin text contains src --known library --kind functions
    nearkin text contains pages.jsonl --known articles.jsonl --id-column url --json
    """
    from nearkin.dedup.contains import THRESHOLD, KnownTexts
    from nearkin.dedup.kinds import recipe_of_kind
    from nearkin.theory import CONTAINMENT_RECALL

    reading = reading.for_kind(kind, [*inputs, *known])
    matching = {"threshold": THRESHOLD, "recall": CONTAINMENT_RECALL, **matching}
    with progress_bars(quiet=False) as progress, reading.read(known, progress=mark_reference(progress)) as corpus:
        known_texts = KnownTexts(corpus, recipe=recipe_of_kind(kind, recipe and parse_recipe(recipe)), **matching)
    with listing_progress() as progress, reading.read(inputs, progress=progress) as corpus:
        for matches in known_texts.find_each(corpus):
            for row in matches.rows():
                cells = (row["query"], row["id"], f"{row['similarity']:.4f}", row["start"], row["end"])
                say_row(row, cells, as_json=as_json)
