"""`nearkin decontaminate` and `nearkin leaks`: benchmarks in a corpus, and splits that share documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from nearkin.cli.commands import Commands
from nearkin.cli.console import display, progress_bars, report_summary, say_row, show_counts
from nearkin.cli.corpus import CorpusOptions, cut_out, existing_parent, input_summary, report_skipped
from nearkin.cli.options import Inputs, Json, Overwrite, PageFile, Quiet, Repeated, matching_opt, opt, output_opt
from nearkin.cli.report import REPORT, check_page, check_report, write_page
from nearkin.dedup.candidates.base import distinct
from nearkin.errors import bad_parameter
from nearkin.io.base import REJECTED

if TYPE_CHECKING:
    from nearkin.dedup.labels import PairLabels
    from nearkin.io import Corpus, OutputDir
    from nearkin.io.base import KeptLayout
    from nearkin.pieces.decontaminate import Decontamination
    from nearkin.pieces.suites import Suites

app = Commands()

ACTIONS = ("drop", "cut", "flag", "report")
FLAG_COLUMN = "benchmark_hits"
"""Default name of the column of flags."""
_suites_opt = partial(opt, group="Suites")
_CHUNK = 1 << 10
"""Documents whose texts are in memory at once for the table of hits."""


@app.add(
    threads=True,
    brief=("suites", "out", "text_column", "id_column", "action", "suite_column", "threshold", "report", "overwrite"),
)
def decontaminate(
    inputs: Inputs,
    suites: Annotated[
        list[str],
        opt("Folder or files of items, each file a suite, or an index that --save-suites wrote; may be repeated."),
    ],
    out: Annotated[str, output_opt("New folder for documents, hits and summary.", "--out", "-o", metavar="DIR")],
    reading: CorpusOptions,
    action: Annotated[
        str,
        output_opt(
            "drop documents with a hit, cut the hits out of them, flag them in a column, or report hits only.",
            choices=ACTIONS,
            metavar="drop|cut|flag|report",
        ),
    ] = "drop",
    margin: Annotated[int, output_opt("Characters to cut on either side of a hit.")] = 0,
    flag_column: Annotated[
        str | None,
        output_opt("Column with the number of hits that flag adds.", show_default=FLAG_COLUMN, metavar="NAME"),
    ] = None,
    suite_column: Annotated[
        Repeated,
        _suites_opt(
            "Column of an item's text, or SUITE:COLUMN; may be repeated, and the columns are joined.",
            show_default="text, question, problem or prompt",
        ),
    ] = None,
    any_column: Annotated[bool, _suites_opt("One of the columns of an item is enough.")] = False,
    item_id: Annotated[str | None, _suites_opt("Column of the items' ids.", show_default="row numbers")] = None,
    kind: Annotated[
        str | None,
        _suites_opt(
            "Kind of items: functions finds code with other names.", choices=("functions",), metavar="functions"
        ),
    ] = None,
    save_suites: Annotated[Path | None, _suites_opt("Save the index of the suites.", metavar="FILE")] = None,
    threshold: Annotated[
        float | None, matching_opt("Smallest share of an item's own words.", show_default="0.75, for functions 0.85")
    ] = None,
    max_chance: Annotated[
        float | None,
        matching_opt(
            "Largest expected number of matches by chance in a document.", show_default="1e-05, for functions 1e-12"
        ),
    ] = None,
    levels: Annotated[
        str | None,
        matching_opt(
            "Levels of hits to act on, by commas: item, variant, part, template, quotation.", show_default="item"
        ),
    ] = None,
    ignore: Annotated[
        Path | None, matching_opt("Texts that are no contamination, such as quotations.", metavar="FILE")
    ] = None,
    source_column: Annotated[str | None, matching_opt("Count documents by this column.")] = None,
    labels: Annotated[
        Path | None,
        matching_opt(
            "Table of judged hits (exported by report.html); hits labelled 'different' are left out.", metavar="FILE"
        ),
    ] = None,
    report: Annotated[
        bool, output_opt("Write report.html as well: suites, hits with both texts, and a queue to judge.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the items of benchmarks in a corpus, and drop, cut or flag the documents that hold them.

    DIR/kept.* has the documents that remain, DIR/hits.* each hit with its level and both texts, and DIR/suites.* counts
    by suite.

    Examples
    --------
    $ nearkin decontaminate corpus.jsonl --suites new.jsonl -o rest --id-column id
    4  documents read (0.0 MB)
    3  contaminated (75.00%), dropped; see rest
    1  of 2 items met, in 3 hits
    0  items too short: a copy may be chance
    1  of 2 items of new

    nearkin decontaminate 'corpus/*.parquet' --suites evals --out clean
    nearkin decontaminate corpus.jsonl --suites evals --out clean --action cut --margin 20
    nearkin decontaminate corpus.jsonl --suites mmlu.jsonl --suite-column question --suite-column choices --out clean
    nearkin decontaminate corpus.jsonl --suites evals --out clean --levels item,part --ignore quotes.jsonl
    nearkin decontaminate corpus.jsonl --suites evals --save-suites evals.suites --out clean
    nearkin decontaminate more.jsonl --suites evals.suites --out clean2
    nearkin decontaminate code.parquet --suites solutions.jsonl --kind functions --out clean
    nearkin decontaminate corpus.jsonl --suites evals --labels labels.tsv --out better --id-column id
    """
    from nearkin.dedup.labels import read_pair_labels
    from nearkin.io import OutputDir, table_name
    from nearkin.pieces.decontaminate import decontaminate as search

    if action not in ACTIONS:
        raise bad_parameter("action", repr(action), " or ".join(ACTIONS))
    if margin and action != "cut":
        raise bad_parameter("margin", margin, "with --action cut alone")
    if flag_column is not None and action != "flag":
        raise bad_parameter("flag_column", repr(flag_column), "with --action flag alone")
    if report:
        check_report(out)
    judged = None if labels is None else read_pair_labels(labels, "labels")
    index = _open_suites(suites, suite_column, any_column=any_column, item_id=item_id, kind=kind)
    if save_suites is not None:
        index.save(save_suites)
    extra = [] if source_column is None else [source_column]
    quiet_reading = quiet or as_json
    spool = existing_parent(Path(out))
    with reading.open_corpus(inputs, extra_columns=extra, spool_dir=spool, quiet=quiet_reading) as corpus:
        if action == "cut" and corpus.format != "parquet":
            # The columns of Parquet are checked when the files have been read.
            corpus.check_replacements()
        if flag_column is not None:
            corpus.check_added(flag_column, "flag_column")
        tables = [table_name(name, corpus.format) for name in ("hits", "suites", "sources", "flags")]
        column = (flag_column or FLAG_COLUMN) if action == "flag" and corpus.has_columns else None
        writes = action in ("drop", "cut") or column is not None
        names = [
            *(corpus.kept_names("single") if writes else []),
            *tables,
            REJECTED,
            "summary.json",
            *([REPORT] if report else []),
        ]
        known = [*corpus.inputs, *(path for path in map(Path, suites) if path.exists())]
        with OutputDir(out, overwrite=overwrite, inputs=known, names=names) as target:
            with progress_bars(quiet=quiet) as progress:
                result = search(
                    corpus,
                    index,
                    sources=source_column,
                    threshold=threshold,
                    max_chance=max_chance,
                    levels=("item",) if levels is None else [level.strip() for level in levels.split(",")],
                    ignore=ignore,
                    labels=judged,
                    progress=progress,
                )
            summary = _write(result, corpus, target, action, margin, column, judged, report=report)
        report_skipped(corpus)
    _report(summary, result, Path(out), as_json=as_json, quiet=quiet)


def _open_suites(paths: list[str], columns: list[str] | None, *, any_column: bool, **options: Any) -> Suites:
    """Open a saved index, or index the items of files."""
    from nearkin.pieces.suites import Suites

    choice: list[str] | dict[str, list[str]] | None = None
    if columns:
        named = [column.rpartition(":") for column in columns]
        suites = {suite for suite, _, _ in named if suite}
        if suites and any(not suite for suite, _, _ in named):
            raise bad_parameter("suite_column", ", ".join(columns), "COLUMN for all suites, or SUITE:COLUMN for each")
        by_suite = {suite: [column for other, _, column in named if other == suite] for suite in sorted(suites)}
        choice = by_suite or [column for _, _, column in named]
    source: Any = paths[0] if len(paths) == 1 else paths
    return Suites.of(source, columns=choice, together=False if any_column else None, **options)


def _write(
    result: Decontamination,
    corpus: Corpus,
    target: OutputDir,
    action: str,
    margin: int,
    column: str | None,
    labels: PairLabels | None,
    *,
    report: bool,
) -> dict[str, Any]:
    """Write documents, tables and the summary."""
    from nearkin.io import write_table
    from nearkin.io.base import AddedColumn

    layout: KeptLayout | None = "single" if action in ("drop", "cut") or column is not None else None
    summary: dict[str, Any] = {"action": action, **result.summary, **input_summary(corpus, layout)}
    if action == "drop":
        corpus.write_kept(~result.flags, target)
    elif action == "cut":
        texts = cut_out(result.cuts(margin), corpus)
        corpus.write_kept(np.ones(len(result.flags), bool), target, replacements=texts)
    if action == "flag":
        hits = np.bincount(result.counted.documents, minlength=len(result.flags)).astype(np.int64)
        if column is not None:
            corpus.write_kept(np.ones(len(result.flags), bool), target, added=AddedColumn(column, hits))
        flags = {"id": result.ids.to_list(), "contaminated": result.flags.tolist(), "hits": hits.tolist()}
        write_table(target, "flags", flags, corpus.format)
    evidence = list(result.evidence(_Passages(corpus, result.hits.documents)))
    names = [*result.hits.compact, "passage", "item_text"]
    write_table(target, "hits", {name: [hit[name] for hit in evidence] for name in names}, corpus.format)
    write_table(target, "suites", result.suites.columns, corpus.format)
    if result.sources is not None:
        write_table(target, "sources", result.sources.columns, corpus.format)
    if report:
        from nearkin.report.decontamination import decontamination_page

        name = ", ".join(path.name for path in corpus.inputs) or "corpus"
        with target.open(REPORT) as file:
            rejected = result.evidence(_Passages(corpus, result.rejected.documents), result.rejected)
            page = decontamination_page(result, evidence, name, rejected=list(rejected), labels=labels)
            file.write(page.encode())
    corpus.write_rejected(target)
    return target.write_json("summary.json", summary)


class _Passages(Mapping[int, str]):
    """Texts of documents by row, of which some are in memory at once; rows are looked up in ascending order."""

    def __init__(self, corpus: Corpus, rows: Any) -> None:
        self._corpus, self._rows = corpus, distinct(rows)
        self._texts: dict[int, str] = {}

    def __getitem__(self, row: int) -> str:
        if row not in self._texts:
            at = int(np.searchsorted(self._rows, row))
            chunk = self._rows[at : at + _CHUNK]
            self._texts = dict(zip(chunk.tolist(), self._corpus.texts(chunk), strict=True))
        return self._texts[row]

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows.tolist())

    def __len__(self) -> int:
        return len(self._rows)


def _report(summary: Mapping[str, Any], result: Decontamination, out: Path, *, as_json: bool, quiet: bool) -> None:
    """Print the counts, an example, and the suites that were met most."""

    def rows() -> Iterator[tuple[int | str, str]]:
        share = summary["contaminated"] / max(summary["documents"], 1)
        yield summary["documents"], f"documents read ({summary['bytes_read'] / 1e6:,.1f} MB)"
        done = {"drop": "dropped", "cut": "cut", "flag": "flagged", "report": "reported"}[summary["action"]]
        yield summary["contaminated"], f"contaminated ({share:.2%}), {done}; see {out}"
        yield summary["met"], f"of {summary['items']:,} items met, in {summary['hits']:,} hits"
        for level, count in summary["levels"].items():
            if count and level not in result.levels:
                yield count, f"hits of level {level}, listed only"
        yield summary["too_short"], "items too short: a copy may be chance"
        if summary["all_template"]:
            yield summary["all_template"], "items that are all template"
        if judged := summary.get("labels"):
            yield judged["rejected"], "hits labelled different, left out"
            if judged["precision"]:
                value, low, high = (judged["precision"][name] for name in ("value", "low", "high"))
                number = judged["same"] + judged["different"]
                yield f"{value:.3f}", f"precision by {number:,} labels ({low:.3f} to {high:.3f})"
        for suite in sorted(result.suites.rows(), key=lambda suite: -suite["share"])[:5]:
            if suite["met"]:
                yield suite["met"], f"of {suite['items']:,} items of {suite['suite']}"

    report_summary(summary, lambda: show_counts(rows()), as_json=as_json, quiet=quiet)


@app.add(threads=True)
def leaks(
    splits: Annotated[list[str], typer.Argument(help="Files or folders of the splits, the training set first.")],
    reading: CorpusOptions,
    class_column: Annotated[str | None, matching_opt("Count leaks by this column.")] = None,
    threshold: Annotated[float, matching_opt("Smallest similarity, and containment.")] = 0.8,
    labels: Annotated[
        Path | None,
        matching_opt(
            "Table of judged pairs (exported by the report); those labelled 'different' are no leak.", metavar="FILE"
        ),
    ] = None,
    report: PageFile = None,
    pairs: Annotated[bool, output_opt("Print leaked documents instead of the matrix.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print how many documents of later splits are in earlier ones: exactly, nearly, or inside a document.

    Columns: split, other, documents, exact, near, contained, item, leaked, share, and with --class-column same_label.

    Examples
    --------
    $ nearkin leaks corpus.jsonl new.jsonl --id-column id --pairs
    new.jsonl       e       corpus.jsonl    a       exact   1.0000

    nearkin leaks train.jsonl valid.jsonl test.jsonl
    nearkin leaks train.jsonl test.jsonl --class-column label
    nearkin leaks train.jsonl test.jsonl --report leaks.html
    nearkin leaks train.jsonl test.jsonl --id-column id --pairs --json
    """
    from nearkin.pieces.leaks import leaks as search

    check_page(report)
    extra = [] if class_column is None else [class_column]
    with ExitStack() as stack:
        progress = stack.enter_context(progress_bars(quiet=quiet))
        corpora = {name: stack.enter_context(reading.read([name], extra_columns=extra, quiet=quiet)) for name in splits}
        result = search(corpora, labels=class_column, threshold=threshold, judged=labels, progress=progress)
    if report is not None:
        from nearkin.report.decontamination import leaks_page

        write_page(report, leaks_page(result))
    for row in (result.documents if pairs else result.matrix).rows():
        cells = (f"{value:.4f}" if isinstance(value, float) else display(value) for value in row.values())
        say_row(row, cells, as_json=as_json)
