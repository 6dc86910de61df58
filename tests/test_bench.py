"""Run files of benchmarks: `bench/common.py` names and writes them, `bench/runs/` stores them."""

from __future__ import annotations

import datetime
import importlib.util
import json
import platform
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
NOON = datetime.datetime(2026, 11, 21, 12, 0, 0, tzinfo=datetime.timezone.utc)


def load() -> ModuleType:
    """Load `bench/common.py` as a new process does."""
    spec = importlib.util.spec_from_file_location("bench_common", BENCH / "common.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def common(tmp_path: Path) -> ModuleType:
    """Return the module with an empty folder of runs."""
    return process(tmp_path)


def process(folder: Path) -> ModuleType:
    """Return the module as another process sees it, with the same folder of runs."""
    module = load()
    vars(module)["RUNS"] = folder / "runs"
    return module


def test_a_file_is_named_by_day_benchmark_and_time(common: ModuleType) -> None:
    """The name is `DAY-NAME-TIME.json` in UTC."""
    assert "2026-11-21-quality-table-120000.json" == common.reserve("quality-table", NOON).name


def test_no_run_overwrites_another(common: ModuleType) -> None:
    """Runs that start in the same second get a counter."""
    paths = [common.reserve("text", NOON) for _ in range(3)]
    expected = ["2026-11-21-text-120000.json", "2026-11-21-text-120000-2.json", "2026-11-21-text-120000-3.json"]
    assert expected == [path.name for path in paths]


def test_two_processes_write_two_files(tmp_path: Path) -> None:
    """Each process keeps its own figures; the newest run is the later one."""
    first, second = process(tmp_path), process(tmp_path)
    paths = [first.save("text", {"figure": 1}), second.save("text", {"figure": 2})]
    assert [1, 2] == [json.loads(path.read_text())["figure"] for path in paths]
    assert paths == second.runs("text")
    assert 2 == second.latest("text")["figure"]


def test_a_process_that_saves_again_keeps_its_file(common: ModuleType) -> None:
    """Parts of one process are one run in one file."""
    path = common.save("text", {"figure": 1})
    assert path == common.save("text", {"figure": 2})
    assert [path] == list(common.RUNS.iterdir())
    assert 2 == common.latest("text")["figure"]


def test_short_parts_of_a_run_take_one_line(common: ModuleType) -> None:
    """A round is one line; a longer list or object has a line for each part."""
    rounds = {"cpu": [0.5] * 9, "wall": {f"round {number}": number for number in range(6)}}
    assert rounds == json.loads(common.layout(rounds))
    expected = ["{", f' "cpu": {json.dumps(rounds["cpu"])},', f' "wall": {json.dumps(rounds["wall"])}', "}"]
    assert expected == common.layout(rounds).split("\n")


def test_runs_are_ordered_by_day_time_and_counter(common: ModuleType) -> None:
    """The tenth run of a second comes after its second; a later day comes after a later time."""
    common.RUNS.mkdir()
    names = ["2026-11-20-text-235959.json", "2026-11-21-text-000001.json"]
    names += [f"2026-11-21-text-120000{count}.json" for count in ("", "-2", "-10")]
    for name in reversed(names):
        (common.RUNS / name).write_text("{}")
    assert names == [path.name for path in common.runs("text")]


def test_a_benchmark_ignores_the_runs_of_another(common: ModuleType) -> None:
    """`quality` does not match `quality-table`, and a file with another name is no run."""
    common.RUNS.mkdir()
    for name in ("2026-11-21-quality-table-120000.json", "2026-11-21-quality-110000.json", "2026-11-21-quality-x.json"):
        (common.RUNS / name).write_text("{}")
    assert ["2026-11-21-quality-110000.json"] == [path.name for path in common.runs("quality")]


def test_a_named_run_replaces_the_newest(common: ModuleType) -> None:
    """A page can be written from any run; a run of another benchmark, or a missing run, is an error."""
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
    """The command has all its arguments, quoted for a shell."""
    monkeypatch.setattr(sys, "argv", ["/somewhere/bench/text.py", "--rounds", "2", "--data", "a folder"])
    run = json.loads(common.save("text", {}).read_text())
    assert "python bench/text.py --rounds 2 --data 'a folder'" == run["command"]
    assert {"processor", "instruction_set", "cores", "memory_gb", "system", "python"} <= run["machine"].keys()


def test_parts_of_an_earlier_run_are_carried_with_its_name(tmp_path: Path) -> None:
    """A partial run includes the other parts and names the file that had each of them first."""
    first = process(tmp_path)
    complete = first.save("vectors", {"results": {"real": 1, "growth": 2, "tune": 3}})
    for figure, part in ((10, "real"), (20, "growth")):
        later = process(tmp_path)
        content = {"results": later.merge_last("vectors", "results", {part: figure})}
        later.save("vectors", content)
    run = later.latest("vectors")
    assert {"real": 10, "growth": 20, "tune": 3} == run["results"]
    assert {"real": first.runs("vectors")[1].name, "tune": complete.name} == run["carried"]


def test_parts_of_the_same_process_are_not_carried(common: ModuleType) -> None:
    """Parts that the process measured itself are not marked as carried."""
    for part in ("real", "growth"):
        common.save("vectors", {"results": common.merge_last("vectors", "results", {part: 1})})
    assert "carried" not in common.latest("vectors")


@pytest.mark.parametrize(
    ("features", "expected"), [(["avx2", "avx512f"], "AVX-512"), (["avx2"], "AVX2"), ([], platform.machine())]
)
def test_the_source_of_a_table_names_the_instruction_set(
    common: ModuleType, features: list[str], expected: str
) -> None:
    """The set follows from the features, so that older runs name it too."""
    about = {"processor": "CPU", "features": features}
    run = {"machine": about, "date": "2026-11-21T11:00:00", "command": "python bench/text.py", "file": "a.json"}
    assert f"CPU, {expected}, 2026-11-21, `python bench/text.py`; raw data: `bench/runs/a.json`." == common.source(run)


def test_versions_leave_out_packages_that_are_not_installed(common: ModuleType) -> None:
    """A peer is optional, with or without an environment of its own."""
    vars(common)["ROOT"] = common.RUNS.parent
    assert {"nearkin", "commit", "numpy"} == common.versions("numpy", "no-such-package", "text-dedup").keys()


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3367.4, "3,370"), (1e3, "1,000"), (212.4, "212"), (0.9251, "0.925"), (12345, "12,300")],
)
def test_ratios_have_three_figures_and_no_powers_of_ten(common: ModuleType, value: float, expected: str) -> None:
    """The value 1.49e+03 is written 1,490."""
    assert expected == common.ratio(value)


def test_every_raw_result_of_the_project_names_machine_and_command() -> None:
    """Every run file has a machine and a command, and its name is that of the benchmark in it."""
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
