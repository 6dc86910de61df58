"""nearkin.quality.tuning_results: the advice as a command, and everything as JSON."""

from __future__ import annotations

import json

import pytest

from nearkin.dedup.result import ResultTable
from nearkin.quality.tuning import check_options, estimate_notes
from nearkin.quality.tuning_results import Setting, Tuning

SETTING: Setting = {"recipe": "char:4|count|xxh3|simhash:64", "threshold": 0.85, "radius": 9, "recall": 0.97}


def tuning(chosen: Setting | None) -> Tuning:
    rows = ResultTable.of_rows([] if chosen is None else [chosen], Setting.__annotations__)
    empty = ResultTable({"radius": []})
    return Tuning(
        "recall", chosen, rows, ResultTable({"radius": [0, 1], "recall": [0.5, 1.0]}), empty, empty,
        {"documents": 9, "sample": 8, "copies": 1, "pairs": 3, "method": "labels", "missed": 0.0, "seed": 0}, ["few"],
    )  # fmt: skip


def test_the_advice_is_a_command_that_a_shell_reads() -> None:
    """Bars and spaces are quoted, numbers stand as they were given; nothing advised is no command."""
    assert (
        "nearkin dedup 'a b.jsonl' --out clean --recipe 'char:4|count|xxh3|simhash:64' --threshold 0.85 --radius 9"
    ) == tuning(SETTING).command("a b.jsonl")
    assert (
        "nearkin dedup a.jsonl 'b c.jsonl' --id-column 'my id' --out clean-2 --recipe 'char:4|count|xxh3|simhash:64' "
        "--threshold 0.85 --radius 9"
    ) == tuning(SETTING).command(["a.jsonl", "b c.jsonl"], reading=["--id-column", "my id"], out="clean-2")
    assert tuning(None).command() is None


@pytest.mark.parametrize("chosen", [SETTING, None])
def test_everything_is_json(chosen: Setting | None) -> None:
    """Tables as lists of rows, the command among them."""
    found = json.loads(json.dumps(tuning(chosen).to_dict()))
    assert [{"radius": 0, "recall": 0.5}, {"radius": 1, "recall": 1.0}] == found["curve"]
    assert ([] if chosen is None else [chosen]) == found["settings"]
    assert (chosen, ["few"], "recall", 3) == (found["chosen"], found["notes"], found["goal"], found["truth"]["pairs"])
    assert tuning(chosen).command() == found["command"]
    assert [0, 1] == tuning(chosen).to_pandas()["radius"].tolist()


@pytest.mark.parametrize(
    ("recall", "low", "expected"),
    [(0.97, 0.95, 0), (0.97, 0.949, 1), (0.97, None, 0), (None, 0.1, 0)],
)
def test_a_recall_whose_interval_begins_too_low_is_an_estimate(
    recall: float | None, low: float | None, expected: int
) -> None:
    """The bound that is wanted itself is enough."""
    notes = estimate_notes(recall, low, 0.95)
    assert expected == len(notes)
    assert all("recall 0.970 is an estimate" in note and "begins at 0.949" in note for note in notes)


def test_numbers_at_their_bounds_are_taken() -> None:
    """Shares above 0 and up to 1, samples of two documents and more."""
    check_options(1.0, 1, 2)
    check_options(1e-9, 0.5, 10**9)
