"""Errors of users are raised before a job starts, or name the record; failed jobs resume."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from engines import MINHASH, SIMHASH, DocumentSet, Engine, mixed_texts

import nearkin as nk
from nearkin.distributed import tables as results
from nearkin.distributed.links import Verification
from nearkin.errors import EngineError, InputError, MismatchError, OutputError, ParameterError
from nearkin.spark import dedup, engine, fingerprint, signature
from nearkin.spark.engine import Checkpoint, functions

# Sail joins the thread of a function that raised from the same thread, which gives a warning in a destructor.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXTS = [
    "the cat sat on the mat today, and it sat there for long",
    "the cat sat on the mat today; and it sat there for long",
    "quite another text, which has nothing in common with cats",
    "the third one is not alike to one of the others in any way",
]


def frame(session: Any, **columns: Any) -> Any:
    """Return a DataFrame with columns, or with four texts."""
    columns = columns or {"id": [1, 2, 3, 4], "text": TEXTS}
    return session.createDataFrame(pa.table(columns))


def refused(kind: type[Exception], message: str, call: Callable[[], object]) -> Any:
    """Check that a call raises this error with this text in its message."""
    with pytest.raises(kind, match=re.escape(message)) as raised:
        call()
    assert kind is type(raised.value)
    return raised.value


# Columns


def test_a_frame_that_is_not_of_an_engine(sail: Any) -> None:
    other = pd.DataFrame({"id": [1], "text": ["a"]})
    good = frame(sail)
    for call in (dedup, fingerprint, signature):
        error = refused(
            ParameterError,
            "df=pandas.DataFrame is not allowed; use a DataFrame of Spark (spark.read.parquet(...)); others go to "
            "nearkin.dedup",
            lambda call=call: call(other),  # type: ignore[misc]
        )
        assert "df" == error.name
    for reference in (other, ["a"], "s3://old"):
        refused(ParameterError, "against=", lambda reference=reference: dedup(good, against=reference))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "body"}, "text='body' is not allowed; use a column of the DataFrame: id, text, day, tags, n"),
        ({"text": "n"}, "text=the column 'n' of double is not allowed; use a column of strings; cast it"),
        ({"text": 3}, "text=3 is not allowed; use a column of the DataFrame: id, text"),
        ({"id": "key"}, "id='key' is not allowed; use a column of the DataFrame: id, text"),
        ({"id": "ID"}, "id='ID' is not allowed; use a column of the DataFrame: id, text"),
        ({"id": "n"}, "id=the column 'n' of double is not allowed; use a column of integers or strings; cast it"),
        ({"id": "tags"}, "id=the column 'tags' of array<bigint> is not allowed"),
        ({"id": None}, "id=None is not allowed"),
        ({"source": "site"}, "source='site' is not allowed; use a column of the DataFrame"),
        ({"keep": "max:score"}, "keep='score' is not allowed; use a column of the DataFrame"),
        ({"keep": "max:tags"}, "keep=the column 'tags' of array<bigint> is not allowed; use numbers, dates or strings"),
        ({"keep": "finest"}, "keep='finest' is not allowed; use first, last, longest, shortest, best, max:COLUMN"),
        (
            {"measure": "containment"},
            "measure='containment' is not allowed; use jaccard, indel or words on an engine; nearkin",
        ),
        ({"verify": "containment"}, "verify='containment' is not allowed; use jaccard, indel or words on an engine"),
        ({"threshold": 2.0}, "threshold=2"),
        ({"recipe": "given|xxh3|simhash:64"}, "use a recipe with char:N or word:N features"),
        ({"checkpoint": ""}, "checkpoint='' is not allowed; use a folder or its URL, or None for a temporary one"),
        ({"checkpoint": 7}, "checkpoint=7 is not allowed"),
    ],
    ids=str,
)
def test_arguments(sail: Any, options: dict[str, Any], message: str) -> None:
    """They are checked before the engine runs."""
    documents = frame(sail, id=[1], text=["a"], day=["x"], tags=[[1]], n=[1.0])
    reported: list[str] = []
    refused(
        ParameterError, message, lambda: dedup(documents, progress=lambda stage, *_: reported.append(stage), **options)
    )
    assert [] == reported


def test_names_that_are_ambiguous(sail: Any) -> None:
    documents = frame(sail)
    twice = documents.select("id", "text", documents["text"])
    refused(ParameterError, "text='text', the name of 2 columns (text, text), is not allowed", lambda: dedup(twice))
    alike = frame(sail, id=[1], Id=[2], text=["a"])
    refused(ParameterError, "id='id', the name of 2 columns (id, Id), is not allowed", lambda: dedup(alike))


def test_reference_documents_with_other_columns(sail: Any) -> None:
    documents = frame(sail)
    error = refused(
        MismatchError,
        "id differs: bigint of df against string of against; cast one of them",
        lambda: dedup(documents, against=frame(sail, id=["a"], text=["b"])),
    )
    assert "id" == error.what
    reference = frame(sail, key=[1], text=["b"])
    refused(
        ParameterError,
        "against='id' is not allowed; use a column of the DataFrame: key, text",
        lambda: dedup(documents, against=reference),
    )
    reference = frame(sail, id=[1], text=[2])
    refused(
        ParameterError,
        "against=the column 'text' of bigint is not allowed",
        lambda: dedup(documents, against=reference),
    )


def test_names_with_dots_quotes_spaces_and_capitals(sail: Any, tmp_path: Path) -> None:
    """Also names that stages give their own columns."""
    names = ["The id.x", "a `text`", "Score.of 1", "from", "removed_id", "number", "REMOVED_ID_"]
    columns = [[4, 3, 2, 1], TEXTS, [1.0, 2.0, None, None], ["a", "a", "b", None], *[[1, 2, 3, 4]] * 3]
    documents = frame(sail, **dict(zip(names, columns, strict=True)))
    with pytest.warns(RuntimeWarning, match=re.escape("2 of 4 documents have no value in column 'Score.of 1'")):
        result = dedup(
            documents,
            "a `text`",
            "The id.x",
            keep="max:Score.of 1",
            source="from",
            against=documents.limit(0),
            checkpoint=f"{tmp_path}/a b.c",
        )
    assert names == result.kept.columns
    assert [1, 2, 3] == sorted(row["The id.x"] for row in result.kept.toArrow().to_pylist())
    assert [4] == result.pairs.toArrow().column("id").to_pylist()
    assert 1 == result.summary["removed"]


# Records


def test_ids_that_are_not_distinct(sail: Any) -> None:
    """They are detected before later stages run."""
    reported: list[str] = []
    documents = frame(sail, id=[1, 2, 2, 7, 7, 7], text=["a b c d"] * 6)
    error = refused(
        InputError,
        "ids: column 'id' has the id 2 in 2 rows, the id 7 in 3 rows; ids must differ",
        lambda: dedup(documents, progress=lambda stage, *_: reported.append(stage)),
    )
    assert (["documents"], "id 2") == (reported, error.place)
    named = frame(sail, key=["x", "y", "x"], text=["a b c d"] * 3)
    refused(InputError, "ids: column 'key' has the id 'x' in 2 rows; ids must differ", lambda: dedup(named, id="key"))
    reference = frame(sail, id=[5, 5], text=["a", "b"])
    refused(
        InputError, "ids of against: column 'id' has the id 5 in 2 rows", lambda: dedup(frame(sail), against=reference)
    )
    # A new and a reference document may have the same id.
    assert 3 == dedup(frame(sail), against=frame(sail).limit(1)).kept.count() + 1


@pytest.mark.parametrize("ids", [pa.array([1, None, 3]), pa.array(["a", None, "b"])], ids=["integers", "strings"])
def test_ids_that_are_null(sail: Any, ids: pa.Array) -> None:
    documents = frame(sail, key=ids, text=["a", "b", "c"])
    for keep in ("first", "longest"):
        error = refused(
            InputError,
            "column 'key': 1 of 3 documents that one task read at once have no id",
            lambda keep=keep: dedup(documents, id="key", keep=keep),  # type: ignore[misc]
        )
        assert "column 'key'" == error.place
    refused(
        InputError,
        "column 'key': 1 of",
        lambda: dedup(frame(sail, key=ids.drop_null(), text=["a"] * 2), against=documents, id="key"),
    )


@pytest.mark.parametrize("wide", [2**61, -(2**61), 2**63 - 1, -(2**63)])
def test_ids_that_are_too_wide(sail: Any, wide: int) -> None:
    documents = frame(sail, id=[1, wide], text=["a b c d"] * 2)
    message = f"column 'id': id {wide} is not between -2**61 and 2**61; make ids strings"
    refused(InputError, message, lambda: dedup(documents))
    refused(InputError, message, lambda: dedup(frame(sail), against=documents))
    as_strings = documents.withColumn("id", documents["id"].cast("string"))
    assert 1 == dedup(as_strings).kept.count()


def test_the_widest_ids(sail: Any) -> None:
    ids = [2**61 - 1, 1 - 2**61, 0]
    result = dedup(frame(sail, id=ids, text=["a b c d"] * 3), against=frame(sail, id=ids, text=["x", "y", "z"]))
    assert [1 - 2**61] == result.kept.toArrow().column("id").to_pylist()


def test_texts_that_are_null_are_counted(sail: Any) -> None:
    documents = frame(sail, id=[1, 2, 3], text=pa.array([None, TEXTS[0], None], pa.string()))
    with pytest.warns(RuntimeWarning, match="2 of 3 texts are null and count as empty"):
        result = dedup(documents)
    assert ["2 of 3 texts are null and count as empty"] == result.summary["warnings"]
    assert (2, 0) == (result.summary["without_features"], result.summary["removed"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dedup(frame(sail))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "x", "2", "3"], "id 20: column 'score' holds 'x', which is neither number nor date; use a column of n"),
        (["1", "2024-01-02", "2", "3"], "id 20: column 'score' holds '2024-01-02', a date among numbers"),
    ],
)
def test_values_that_are_neither_numbers_nor_dates(sail: Any, cells: list[str], message: str) -> None:
    documents = frame(sail, id=[10, 20, 30, 40], text=TEXTS, score=cells)
    for keep in ("max:score", "longest,min:score"):
        error = refused(InputError, message, lambda keep=keep: dedup(documents, keep=keep))  # type: ignore[misc]
        assert "id 20" == error.place


def test_numbers_and_dates_of_one_column_in_two_tasks(sail: Any) -> None:
    """Each batch alone would be accepted."""
    numbers = frame(sail, id=[1, 2], text=TEXTS[:2], score=["1", None])
    dates = frame(sail, id=[3, 4, 5], text=[*TEXTS[2:], "x"], score=["2024-01-02", "2024-01-03T10:00:00Z", None])
    refused(
        InputError,
        "column 'score': dates in 2 documents and numbers in 1; use a column of one of them",
        lambda: dedup(numbers.union(dates), keep="longest,max:score"),
    )
    with pytest.warns(RuntimeWarning, match="have no value in column 'score'"):
        assert 3 == dedup(dates, keep="max:score").kept.count()


# Checkpoints


def test_checkpoints_that_cannot_be_written(sail: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "other" / "stages").mkdir(parents=True)
    (tmp_path / "other" / "stages" / "part.parquet").write_text("no parquet")
    reported: list[str] = []
    for folder in (f"{tmp_path}/file", f"{tmp_path}/file/x", "/proc/x", "nosuch://x/y", f"{tmp_path}/other"):
        error = refused(
            OutputError,
            "give a folder that the driver and all workers can write",
            lambda folder=folder: dedup(frame(sail), checkpoint=folder, progress=lambda *_: reported.append("")),  # type: ignore[misc]
        )
        assert f"checkpoint={folder!r} can't be " in error.message
        assert folder == error.place
    assert [] == reported
    refused(InputError, "the name has a NUL byte", lambda: dedup(frame(sail), checkpoint=f"{tmp_path}/a\0b"))


@pytest.mark.parametrize("lost", [1, 16])
def test_workers_that_do_not_share_the_folder(
    sail: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lost: int
) -> None:
    """Files of some workers are missing for others."""
    write = Checkpoint._write

    def written(point: Checkpoint, writer: Any, folder: str) -> None:
        write(point, writer, folder)
        for part in sorted(Path(folder).glob("*.parquet"))[:lost]:
            part.unlink()

    monkeypatch.setattr(Checkpoint, "_write", written)
    reported: list[str] = []
    with pytest.raises(EngineError, match="is not shared by all workers: of 16 rows that workers wrote ") as raised:
        dedup(frame(sail), checkpoint=str(tmp_path), progress=lambda stage, *_: reported.append(stage))
    assert raised.value.message.endswith(" are there; give a folder that the driver and all workers can write")
    assert (lost == 16) == ("wrote 0 are there" in raised.value.reason)
    assert [] == reported
    monkeypatch.undo()
    assert dedup(frame(sail), checkpoint=str(tmp_path)).kept.count() > 0


@pytest.mark.parametrize(
    "other",
    [
        {"threshold": 0.5},
        {"keep": "last"},
        {"recipe": SIMHASH},
        {"links": "all"},
        {"source": "text"},
        {"verify": "none"},
    ],
    ids=str,
)
def test_the_checkpoint_of_another_job(sail: Any, tmp_path: Path, other: dict[str, Any]) -> None:
    dedup(frame(sail), checkpoint=str(tmp_path))
    error = refused(
        MismatchError,
        f"checkpoint='{tmp_path}' has the stages of another job; give that one's arguments and columns again, or a new "
        "folder",
        lambda: dedup(frame(sail), checkpoint=str(tmp_path), **other),
    )
    assert "checkpoint" == error.what


def test_the_checkpoint_of_other_documents(sail: Any, tmp_path: Path) -> None:
    """The same number, or the same ids: a result never belongs to other documents."""
    reference = frame(sail, id=[9], text=["old text of other words"])
    folder = f"{tmp_path}/run"
    first = dedup(frame(sail), against=reference, checkpoint=folder).kept.count()
    again = f"checkpoint='{folder}' has 4 documents, and those of this call are not the same"
    fewer = frame(sail, id=[1, 2, 3], text=TEXTS[:3])
    refused(
        MismatchError,
        f"{again} (3); give the same documents, or a new folder",
        lambda: dedup(fewer, against=reference, checkpoint=folder),
    )
    edited = frame(sail, id=[1, 2, 3, 4], text=[*TEXTS[:3], "new"])
    refused(MismatchError, again, lambda: dedup(edited, against=reference, checkpoint=folder))
    renamed = frame(sail, id=[1, 2, 3, 5], text=TEXTS)
    refused(MismatchError, again, lambda: dedup(renamed, against=reference, checkpoint=folder))
    newer = frame(sail, id=[9], text=["old text of other letters"])
    refused(MismatchError, "has 1 documents", lambda: dedup(frame(sail), against=newer, checkpoint=folder))
    refused(MismatchError, "another job", lambda: dedup(frame(sail), checkpoint=folder))
    # The order has no effect.
    backwards = frame(sail, id=[4, 3, 2, 1], text=TEXTS[::-1]).repartition(3)
    assert first == dedup(backwards, against=reference, checkpoint=Path(folder)).kept.count()


# Engines


class _Old:
    """A DataFrame of an engine of this version."""

    def __init__(self, version: str) -> None:
        self.sparkSession = SimpleNamespace(version=version)

    def mapInArrow(self) -> None:  # noqa: N802
        """Do nothing; all DataFrames have this method."""


@pytest.mark.parametrize("version", ["3.5.1", "3.4.0-amzn-0", "2.4"])
def test_engines_that_are_too_old(sail: Any, version: str) -> None:
    old = _Old(version)
    message = f"Spark {version} is too old; nearkin.spark needs 4.0 or newer"
    for call in (dedup, fingerprint, signature):
        refused(EngineError, message, lambda call=call: call(old))  # type: ignore[misc]
    error = refused(EngineError, message, lambda: dedup(frame(sail), against=old))
    assert f"Spark {version} is too old" == error.reason


class _Workers:
    """A session whose workers return these rows, or raise."""

    def __init__(self, rows: list[Any] | Exception) -> None:
        self.rows = rows

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *_: self

    def collect(self) -> list[Any]:
        """Return the rows of the workers."""
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows


CLASSIC = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 1227, in main
    func, profiler, deserializer, serializer = read_udfs(pickleSer, infile, eval_type)
  File "/opt/spark/python/lib/pyspark.zip/pyspark/serializers.py", line 160, in _read_with_length
    return self.loads(obj)
pyspark.serializers.SerializationError: Caused by Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/cloudpickle/cloudpickle.py", line 1, in loads
ModuleNotFoundError: No module named 'nearkin'
"""


def test_workers_without_nearkin() -> None:
    for reported, missing in ((CLASSIC, "nearkin"), (CLASSIC.replace("'nearkin'", "'pyarrow'"), "pyarrow")):
        error = refused(
            EngineError,
            f"a worker has no module '{missing}'; workers need this nearkin: on one machine set "
            "PYSPARK_PYTHON to this Python before the session is made; on several build an image with it, or pack an "
            "environment (venv-pack -o env.tar.gz), start with --archives env.tar.gz#env and set "
            "PYSPARK_PYTHON=./env/bin/python",
            lambda reported=reported: engine.check_workers(_Workers(RuntimeError(reported))),  # type: ignore[misc]
        )
        assert f"ModuleNotFoundError: No module named '{missing}'" == error.reason


def test_workers_with_another_nearkin() -> None:
    rows = [(f"{version} 3.11",) for version in (nk.__version__, "0.0.1", "0.0.1")]
    error = refused(
        MismatchError,
        f"nearkin differs: workers with {', '.join(sorted({'0.0.1', nk.__version__}))} against a driver with "
        f"{nk.__version__}; workers need this nearkin: on one machine",
        lambda: engine.check_workers(_Workers(rows)),
    )
    assert "nearkin" == error.what


def test_workers_that_do_not_answer() -> None:
    lost = RuntimeError("Job aborted due to stage failure\njava.io.IOException: Cannot run program python9\n\tat x.y")
    refused(
        EngineError,
        "a worker did not report its version of nearkin: java.io.IOException: Cannot run program python9",
        lambda: engine.check_workers(_Workers(lost)),
    )


def test_errors_of_an_engine_are_converted(sail: Any) -> None:
    """The DataFrame itself can't be computed: its table does not exist, or a cast fails."""
    documents = frame(sail).selectExpr("id", "text", "raise_error('no such page') as page")
    calls: list[Callable[[Any], object]] = [dedup, lambda df: dedup(df, against=frame(sail))]
    for call in calls:
        with pytest.raises(EngineError, match=r"the engine ended the job: .*no such page") as raised:
            call(documents.selectExpr("id", "concat(text, page) as text"))
        assert "no such page" in raised.value.reason


# Jobs that fail


def sorted_tables(actual: Any) -> list[Any]:
    """Return all tables, in one order."""
    tables = actual.kept.select("id").toArrow(), actual.clusters.toArrow(), actual.pairs.toArrow()
    return [sorted(map(repr, table.to_pylist())) for table in tables]


@pytest.mark.usefixtures("rounds")
@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH])
@pytest.mark.parametrize("failing", [("documents", "copies", "links", "links-1", "removed"), ("clusters",)], ids=str)
def test_a_job_resumes(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recipe: str, failing: tuple[str, ...]
) -> None:
    """A stage is written and not listed yet, as after a killed driver; then the job is called again, and so on."""
    if failing != ("clusters",):
        monkeypatch.setattr(results, "MAX_DRIVER_REMOVED", 0)
    documents = engine.frame(DocumentSet.of([text or "" for text in mixed_texts(120)]), 3)
    reported: list[str] = []
    failing = tuple(stage.replace("links-1", "open-1" if recipe == MINHASH else "pairs-1") for stage in failing)
    left = list(failing)
    name = Checkpoint._list

    def named(point: Checkpoint, stage: str, rows: int, files: Any) -> None:
        if stage in left:
            left.remove(stage)
            raise ConnectionError(f"the driver is gone: {stage}")
        name(point, stage, rows, files)

    def run(folder: str) -> list[Any]:
        reported.clear()
        result = dedup(documents, recipe=recipe, checkpoint=folder, progress=lambda stage, *_: reported.append(stage))
        return sorted_tables(result)

    expected, stages = run(f"{tmp_path}/undisturbed"), list(reported)
    assert len(stages) == len(set(stages))
    monkeypatch.setattr(Checkpoint, "_list", named)
    begin = 0
    for stage in failing:
        with pytest.raises(ConnectionError, match=f"the driver is gone: {stage}"):
            run(f"{tmp_path}/run")
        assert stages[begin : stages.index(stage) + 1] == reported, "a stage was made twice, or one is missing"
        begin = stages.index(stage)
    assert expected == run(f"{tmp_path}/run")
    assert stages[begin:] == reported
    assert expected == run(f"{tmp_path}/run")
    assert [] == reported


def test_a_task_that_fails_is_reported_and_runs_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The verification of pairs raises once, in a worker."""
    documents = DocumentSet.of([text or "" for text in mixed_texts(120)])
    reported: list[str] = []

    def broken(*_: object) -> None:
        raise MemoryError("a worker has no room")

    # Workers of Sail are threads of this process.
    monkeypatch.setattr(Verification, "_verify", broken)
    options: dict[str, Any] = {
        "recipe": MINHASH,
        "checkpoint": str(tmp_path),
        "progress": lambda stage, *_: reported.append(stage),
    }
    error = refused(
        EngineError,
        "the engine ended the job: MemoryError: a worker has no room",
        lambda: dedup(engine.frame(documents), **options),
    )
    assert "MemoryError: a worker has no room" == error.reason
    assert "links" == reported[-1]
    reported.clear()
    monkeypatch.undo()
    result = dedup(engine.frame(documents, 4), **options)
    assert not {"documents", "copies", "units"} & set(reported)
    assert "links" == reported[0]
    local = nk.dedup(documents.texts, documents.ids, recipe=MINHASH)
    assert sorted(local.kept) == sorted(result.kept.toArrow().column("id").to_pylist())


# The other calls


def test_all_links_are_pairs(engine: Engine) -> None:
    texts = [text or "" for text in mixed_texts(90, seed=4)]
    documents = DocumentSet.of(texts)
    actual = dedup(engine.frame(documents, 2), recipe=MINHASH, threshold=0.6, links="all").pairs
    assert ["left", "right", "distance", "similarity"] == actual.columns
    local = nk.dedup(texts, recipe=MINHASH, threshold=0.6, links="all").pairs.to_arrow().to_pylist()
    assert sorted(map(repr, local)) == sorted(map(repr, actual.toArrow().select(list(local[0])).to_pylist()))
    assert len(local) > 20


def test_ids_of_a_random_function_are_refused(sail: Any) -> None:
    """Kept rows are read by id, and random ids would be others."""
    documents = frame(sail, key=[1, 2, 3], text=["one text", "one text", "another"])
    random_ = documents.select("text", functions().expr("uuid()").alias("id"))
    refused(InputError, "has other ids when it is read again; write the DataFrame to a table", lambda: dedup(random_))


def test_texts_of_a_random_function_are_refused(sail: Any) -> None:
    """Texts are read again to be compared, and must be those that were hashed."""
    documents = frame(sail, id=[1, 2, 3], text=["one text of some words"] * 2 + ["another"])
    # Case and punctuation are no features: the texts are near-duplicates, however many marks they end in.
    text = functions().concat("text", functions().expr("repeat('!', cast(1 + floor(rand() * 1000000) as int))"))
    random_ = documents.select("id", text.alias("text"))
    refused(InputError, "texts that one task read again are missing or not those before", lambda: dedup(random_))


def test_columns_have_names(sail: Any) -> None:
    documents = frame(sail, id=[1, 2], text=["a", "b"])
    refused(ParameterError, "the name of a column", lambda: dedup(documents, functions().col("text")))


@pytest.mark.parametrize("options", [{"keep": "max:n"}, {"source": "n"}], ids=str)
def test_other_columns_are_another_job(sail: Any, tmp_path: Path, options: dict[str, str]) -> None:
    """Columns of a keep rule or of sources are part of the documents."""
    columns = {"id": [1, 2, 3], "text": ["one text of some words", "one text of some words!", "another"]}
    first = dedup(frame(sail, **columns, n=[1, 2, 3]), checkpoint=tmp_path / "job", **options)  # type: ignore[arg-type]
    again = dedup(frame(sail, **columns, n=[1, 2, 3]), checkpoint=tmp_path / "job", **options)  # type: ignore[arg-type]
    assert sorted_tables(first) == sorted_tables(again)
    refused(
        MismatchError,
        "has 3 documents, and those of this call are not the same",
        lambda: dedup(frame(sail, **columns, n=[3, 2, 1]), checkpoint=tmp_path / "job", **options),  # type: ignore[arg-type]
    )


def test_a_checkpoint_below_home(sail: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is the home folder, not the name of a folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    dedup(frame(sail, id=[1, 2], text=["one text of some words", "another one of words"]), checkpoint="~/run")
    assert (tmp_path / "run").is_dir()
