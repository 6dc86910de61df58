"""One deduplication on an engine: its checks, and its stages up to the removed documents."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from nearkin._core import __version__
from nearkin.dedup.config import DedupConfig
from nearkin.distributed.documents import (
    content_rows,
    direct_numbers,
    is_direct,
)
from nearkin.distributed.pages import main_texts
from nearkin.distributed.plan import SIDES, Plan
from nearkin.errors import InputError, MismatchError, bad_parameter, check_name, mismatch
from nearkin.progress import Progress
from nearkin.spark.columns import check_text, column_type
from nearkin.spark.engine import (
    Checkpoint,
    DataFrame,
    check_workers,
    fetch_rows,
    functions,
    is_spark,
    quote,
    raise_engine_errors,
    spark_session,
)

_LAYOUT = 6
"""Version of the columns and passes of stages: 2 has no texts in the first one, 3 has larger parts of buckets, 4 finds
texts by number if numbers follow from ids, 5 lists the files of stages, 6 has hashes behind other columns."""
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_INTEGERS, "float", "double", "string", "date", "timestamp", "timestamp_ntz", "boolean")


class SparkJob(Plan):
    """One deduplication, whose rows are DataFrames."""

    def __init__(
        self,
        df: DataFrame,
        text: str,
        id: str,
        config: DedupConfig,
        against: DataFrame | None,
        source: str | None,
        hashes: str | None,
        checkpoint: str | PathLike[str] | None,
        report: Progress,
    ) -> None:
        self.session = spark_session(df)
        spark = is_spark(self.session)
        self.df, self.against, self.text, self.id = df, against, text, id
        self.config, self.source_column, self.hashes = config, source, hashes
        self.F = functions()
        id_type = self._check_columns()
        check_workers(self.session)
        self.resumable = checkpoint is not None
        point = Checkpoint(
            self.session,
            _checkpoint_folder(checkpoint),
            self._digest(),
            lambda stage, work=None: report(stage, 0, work),
        )
        point.check()
        text_key = ("number",) if is_direct(config.order, integer=id_type == "bigint") else ("id", "older")
        super().__init__(point, config, id_type, text_key, hints=spark, in_memory=not spark)

    def run(self) -> None:
        """Run all stages up to the removed documents."""
        frames = [frame for frame in (self.df, self.against) if frame is not None]
        sides, texts = list(map(self._hash, frames, SIDES)), self._read_texts()
        if self.pages:
            sides, texts = self.hash_pages(sides, [self._source_type(name) for name in SIDES[: len(sides)]])
        for rows, name in zip(sides, SIDES, strict=False):
            self.count_documents(rows, self.id, reference=name == "older")
        self.search(self.number(*sides), texts)

    def _source_type(self, name: str) -> str:
        """Return the column of sources of a stage, with its type."""
        return "" if self.source_column is None or name == "older" else ", source string"

    # Checks

    def _check_columns(self) -> str:
        """Check the columns, and return the type of ids."""
        check_text(self.df, self.text)
        kinds = [column_type(self.df, self.id, "id")]
        for key in self.config.order:
            if key.column:
                kind = column_type(self.df, key.column, "keep")
                if kind not in _NUMBERS and not kind.startswith("decimal"):
                    raise bad_parameter("keep", f"the column {key.column!r} of {kind}", "numbers, dates or strings")
        if self.source_column is not None:
            column_type(self.df, self.source_column, "source")
        if self.against is not None:
            spark_session(self.against, "against")
            check_text(self.against, self.text, "against")
            kinds.append(column_type(self.against, self.id, "against"))
        if self.hashes is not None:
            if self.config.kind == "pages":
                allowed = "None with kind='pages', whose hashes depend on the lines of all pages"
                raise bad_parameter("hashes", repr(self.hashes), allowed)
            with_hashes = [
                frame for frame in (self.df, self.against) if frame is not None and self.hashes in frame.columns
            ]
            for frame in with_hashes or [self.df]:
                if (kind := column_type(frame, self.hashes, "hashes")) != "binary":
                    allowed = "a column of nearkin.spark.hashes, which is binary"
                    raise bad_parameter("hashes", f"the column {self.hashes!r} of {kind}", allowed)
        for kind in kinds:
            if kind not in (*_INTEGERS, "string"):
                allowed = "a column of integers or strings; cast it"
                raise bad_parameter("id", f"the column {self.id!r} of {kind}", allowed)
        if len({kind == "string" for kind in kinds}) > 1:
            raise mismatch("id", f"{kinds[0]} of df", f"{kinds[1]} of against; cast one of them")
        return "string" if kinds[0] == "string" else "bigint"

    def _digest(self) -> str:
        """Return a digest of everything that determines the result, except the rows."""
        config, against = self.config, self.against
        options = (config.threshold, config.verify, config.differ, config.empty, config.cluster, config.keep)
        facts = [
            __version__,
            str(_LAYOUT),
            str(config.recipe),
            config.recipe.digest,
            repr(sorted(config.candidate_source.summary().items(), key=str)),
            repr(options),
            repr((config.kind == "pages", config.links, self.text, self.id, self.source_column, self.hashes)),
            repr(self.df.dtypes),
            repr(None if against is None else against.dtypes),
        ]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    # Documents

    def _hash(self, frame: DataFrame, name: str) -> DataFrame:
        """Hash documents, or reference documents."""
        F, order, older = self.F, self.config.order, name == "older"
        columns, further = self._text_columns(), self._source_type(name)
        if not older:
            columns += [F.col(quote(by.column)).alias(f"key{at}") for at, by in enumerate(order) if by.column]
        if further:
            columns.append(F.col(quote(str(self.source_column))).cast("string").alias("source"))
        if self.hashes in frame.columns:
            columns.append(F.col(quote(str(self.hashes))).alias("hashes"))
        names = (self.text, self.id, *(by.column for by in order))
        rows = frame.select(*columns)
        return self._hash_stage(frame, name, lambda: self.hash(rows, names, further, str(self.hashes), reference=older))

    def _hash_stage(self, frame: DataFrame, name: str, build: Callable[[], DataFrame]) -> DataFrame:
        """Run a stage that reads documents; if an earlier call ran it, check that the documents are the same."""
        import pyarrow as pa

        point, stage, names = self.checkpoint, f"{name}-pages" if self.pages else name, self._columns(name)
        done = stage in point.done
        if self.resumable:
            with raise_engine_errors():
                checksum = _checksum(frame, names)
            stored = point.table(f"{name}-columns", "rows bigint, sum bigint", lambda: pa.Table.from_pylist([checksum]))
        hashed = point.frame(stage, build)
        if not done:
            # Texts and kept rows are read from the frame again, by id; random ids would be others.
            with raise_engine_errors():
                ids = checksum if self.resumable and names == [self.id] else _checksum(frame, [self.id])
                same = ids == _checksum(hashed, ["id"])
            if not same:
                reason = f"column {self.id!r} has other ids when it is read again"
                message = f"{reason}; write the DataFrame to a table first, and give what is read from there"
                raise InputError(message, place=f"column {self.id!r}", reason=reason)
            return hashed
        with raise_engine_errors():
            before = fetch_rows(stored)[0]
            same = before == checksum
            same = same and self._contents(frame) == _checksum(_hex_contents(hashed), ["id", "content"])
        if not same:
            raise MismatchError(
                f"checkpoint={point.path!r} has {before['rows']:,} documents, and those of this call are not the same "
                f"({checksum['rows']:,}); give the same documents, or a new folder",
                what="checkpoint",
                left=before,
                right=checksum,
            )
        return hashed

    def _text_columns(self) -> list[Any]:
        """Return the columns id and text of a DataFrame of documents."""
        id, text = (self.F.col(quote(name)) for name in (self.id, self.text))
        return [id.cast(self.id_type).alias("id"), text.alias("text")]

    def _read_texts(self) -> DataFrame:
        """Return the texts of all documents, which are read again for those of pairs.

        The other columns are id and older, or the number if it follows from the id, which saves a join.
        """
        (id, text), order = self._text_columns(), self.config.order

        def columns(*, older: bool) -> list[Any]:
            if self.direct:
                return [direct_numbers(id, order, reference=older).alias("number"), text]
            return [id, self.F.lit(older).alias("older"), text]

        own = self.df.select(*columns(older=False))
        return own if self.against is None else own.union(self.against.select(*columns(older=True)))

    def _contents(self, frame: DataFrame) -> dict[str, int]:
        """Return a checksum of ids and contents."""
        rows = frame.select(*self._text_columns())
        rows = rows.mapInArrow(main_texts, f"id {self.id_type}, text string") if self.pages else rows
        rows = rows.mapInArrow(content_rows, f"id {self.id_type}, content binary")
        return _checksum(_hex_contents(rows), ["id", "content"])

    def _columns(self, name: str) -> list[str]:
        """Return the columns of a stage that hashes documents, without the texts."""
        if name != "documents":
            return [self.id]
        keys = [by.column for by in self.config.order if by.column]
        return [self.id, *keys, *([] if self.source_column is None else [self.source_column])]


def _checkpoint_folder(checkpoint: str | PathLike[str] | None) -> str:
    """Return the folder of a checkpoint; a temporary one, deleted when the process ends, for None."""
    if checkpoint is None:
        folder = tempfile.mkdtemp(prefix="nearkin-spark-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    if not isinstance(checkpoint, str | PathLike) or not str(checkpoint):
        raise bad_parameter("checkpoint", repr(checkpoint), "a folder or its URL, or None for a temporary one")
    check_name(checkpoint)
    path = fspath(checkpoint)
    return str(Path(path).expanduser()) if path.startswith("~") else path


def _hex_contents(rows: DataFrame) -> DataFrame:
    return rows.select("id", functions().hex("content").alias("content"))


def _checksum(rows: DataFrame, columns: list[str]) -> dict[str, int]:
    """Return the number of rows and a checksum of columns, independent of the order of rows."""
    F = functions()
    cells = [F.coalesce(F.col(quote(name)).cast("string"), F.lit("")) for name in columns]
    joint = F.concat(*(part for cell in cells for part in (cell, F.lit(":"))))
    # 28 bits of each row: the sum of 2^35 documents has 64 bits.
    hashed = F.crc32(joint.cast("binary")).bitwiseAND(F.lit((1 << 28) - 1))
    sums = rows.agg(F.count(F.lit(1)).alias("rows"), F.coalesce(F.sum(hashed), F.lit(0)).alias("sum"))
    return fetch_rows(sums)[0]
