"""The raw results of benchmarks: `bench/common.py` names the files, `bench/runs/` holds them."""

from __future__ import annotations

import datetime
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
NOON = datetime.datetime(2026, 11, 21, 12, 0, 0, tzinfo=datetime.timezone.utc)


def load() -> ModuleType:
    """`bench/common.py` as a new process sees it."""
    spec = importlib.util.spec_from_file_location("bench_common", BENCH / "common.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def common(tmp_path: Path) -> ModuleType:
    """The module, with an empty folder of runs."""
    return process(tmp_path)


def process(folder: Path) -> ModuleType:
    """The module in another process that writes into the same folder."""
    module = load()
    vars(module)["RUNS"] = folder / "runs"
    return module


def test_a_file_is_named_by_day_benchmark_and_time(common: ModuleType) -> None:
    """`DAY-NAME-TIME.json`, UTC."""
    assert "2026-11-21-quality-table-120000.json" == common.reserve("quality-table", NOON).name


def test_no_run_overwrites_another(common: ModuleType) -> None:
    """Runs that begin in the same second get a counter."""
    paths = [common.reserve("text", NOON) for _ in range(3)]
    expected = ["2026-11-21-text-120000.json", "2026-11-21-text-120000-2.json", "2026-11-21-text-120000-3.json"]
    assert expected == [path.name for path in paths]


def test_two_processes_write_two_files(tmp_path: Path) -> None:
    """Each keeps its own figures; the newest run is that of the later one."""
    first, second = process(tmp_path), process(tmp_path)
    paths = [first.save("text", {"figure": 1}), second.save("text", {"figure": 2})]
    assert [1, 2] == [json.loads(path.read_text())["figure"] for path in paths]
    assert paths == second.runs("text")
    assert 2 == second.latest("text")["figure"]


def test_a_process_that_saves_again_keeps_its_file(common: ModuleType) -> None:
    """Parts that end one after another are one run in one file."""
    path = common.save("text", {"figure": 1})
    assert path == common.save("text", {"figure": 2})
    assert [path] == list(common.RUNS.iterdir())
    assert 2 == common.latest("text")["figure"]


def test_runs_are_ordered_by_day_time_and_counter(common: ModuleType) -> None:
    """The tenth run of a second is after its second; a later day is after a later time."""
    common.RUNS.mkdir()
    names = ["2026-11-20-text-235959.json", "2026-11-21-text-000001.json"]
    names += [f"2026-11-21-text-120000{count}.json" for count in ("", "-2", "-10")]
    for name in reversed(names):
        (common.RUNS / name).write_text("{}")
    assert names == [path.name for path in common.runs("text")]


def test_a_benchmark_does_not_take_the_runs_of_another(common: ModuleType) -> None:
    """`quality` is not `quality-table`, and a file with another name is no run."""
    common.RUNS.mkdir()
    for name in ("2026-11-21-quality-table-120000.json", "2026-11-21-quality-110000.json", "2026-11-21-quality-x.json"):
        (common.RUNS / name).write_text("{}")
    assert ["2026-11-21-quality-110000.json"] == [path.name for path in common.runs("quality")]


def test_a_named_run_is_taken_in_place_of_the_newest(common: ModuleType) -> None:
    """A page can be written from any run; one of another benchmark, or none at all, is refused."""
    common.RUNS.mkdir()
    for hour in (11, 12):
        (common.RUNS / f"2026-11-21-text-{hour}0000.json").write_text(json.dumps({"hour": hour}))
    assert {"hour": 12, "file": "2026-11-21-text-120000.json"} == common.latest("text")
    assert 11 == common.latest("text", "bench/runs/2026-11-21-text-110000.json")["hour"]
    with pytest.raises(SystemExit, match="is no run of words"):
        common.latest("words", "2026-11-21-text-110000.json")
    with pytest.raises(SystemExit, match="no run of words"):
        common.latest("words")


def test_a_run_names_machine_and_full_command(common: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command has all its arguments, quoted where a shell needs it."""
    monkeypatch.setattr(sys, "argv", ["/somewhere/bench/text.py", "--rounds", "2", "--data", "a folder"])
    run = json.loads(common.save("text", {}).read_text())
    assert "python bench/text.py --rounds 2 --data 'a folder'" == run["command"]
    assert {"processor", "cores", "memory_gb", "system", "python"} <= run["machine"].keys()


def test_parts_of_an_earlier_run_are_carried_with_its_name(tmp_path: Path) -> None:
    """A partial run has the other parts too, and says which file each of them was first in."""
    first = process(tmp_path)
    whole = first.save("vectors", {"results": {"real": 1, "growth": 2, "tune": 3}})
    for figure, part in ((10, "real"), (20, "growth")):
        later = process(tmp_path)
        content = {"results": later.with_last("vectors", "results", {part: figure})}
        later.save("vectors", content)
    run = later.latest("vectors")
    assert {"real": 10, "growth": 20, "tune": 3} == run["results"]
    assert {"real": first.runs("vectors")[1].name, "tune": whole.name} == run["carried"]


def test_parts_of_the_same_process_are_not_carried(common: ModuleType) -> None:
    """What a process measured itself is its own."""
    for part in ("real", "growth"):
        common.save("vectors", {"results": common.with_last("vectors", "results", {part: 1})})
    assert "carried" not in common.latest("vectors")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3367.4, "3,370"), (1e3, "1,000"), (212.4, "212"), (0.9251, "0.925"), (12345, "12,300")],
)
def test_ratios_have_three_figures_and_no_powers_of_ten(common: ModuleType, value: float, expected: str) -> None:
    """1.49e+03 is written 1,490."""
    assert expected == common.ratio(value)


def test_every_raw_result_of_the_project_names_machine_and_command() -> None:
    """And its file is named after the benchmark in it."""
    module = load()
    files = sorted(module.RUNS.glob("*.json"))
    assert files
    for path in files:
        run = json.loads(path.read_text(encoding="utf-8"))
        match = module.FILE.fullmatch(path.name)
        assert match, path
        assert run["benchmark"] == match["name"]
        assert run["command"].startswith("python bench/")
        assert run["machine"]["processor"]
