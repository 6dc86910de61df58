"""Templates of log lines, compared with other parsers (docs/patterns.md, "Log lines").

    python bench/patterns_lines.py --data ../shared/data [--part quality|speed|memory] [--peers PYTHON] [--sealed]
        [--loghub FOLDER]

Quality: logs whose templates are known, each parsed alone with default settings, its lines shuffled. They are split by
system, and the output names the part of each:

- *choosing*: the eight LogHub sets that the tests share (2,000 lines each; the labels of LogHub's first version)
  seven generated sources, fourteen of the programs, and fifteen of the blind logs after they were measured.
  Rules and constants were chosen on them, so their figures show nothing.
- *showing*: five generated sources, and with `--loghub FOLDER` each `SYSTEM_2k.log_structured.csv` in that folder
  that is not among the eight.
- *sealed*, with `--sealed`: five generated sources that were measured after each design of rules, errors unread.
- *new* and *latest*, with `--sealed`: fifteen and six generated sources that the author of the rules wrote before they
  were measured; the errors of *new* were read.
- *programs*, with `--sealed`: logs of three real programs (`program_logs.py`), errors unread.
- *blind*, with `--sealed`: logs of two real programs and six generated sources (`blind_logs.py`), collected and
  written by someone who had not read the miner, errors unread. Thirty-five others were measured so, and are
  *choosing* since.

The measures are those of LogPAI's benchmark, LogHub-2.0. A group is correct if its lines are exactly those of an
event. *GA* is the share of lines in correct groups, *FGA* the F1 of correct groups, *PA* the share of lines with the
template of their event, *FTA* the F1 of groups that are correct and have the template of their event. Templates are
normalised as in that benchmark: a word that contains a variable is a variable, adjacent variables are one, and white
space is one blank. An optional part takes the blank after it along.

Labels contradict one another: `find_contradictions` defines how. The figures without such lines are those of the other
lines, parsed with all.

Peers run in the interpreter `--peers` with drain3 and logparser3: Drain3 with its defaults and with the masks of its
example; Brain of logparser3 without settings.

Speed: CPU seconds of one thread on lines with fresh numbers. Memory: the peak of a process over a growing number of
lines of 1,000 templates.
"""

from __future__ import annotations

import collections
import csv
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import blind_logs
import common
import log_sources
import nearkin as nk
import program_logs

Sets = dict[str, list[dict[str, Any]]]
Parsed = tuple[list[Any], list[str]]
CONSISTENT = "nearkin, consistent labels"
ONE_BY_ONE = 50_000
"""Number of lines that are matched one by one."""
MEASURES = ("GA", "FGA", "PA", "FTA")


def sets(data: Path) -> Sets:
    """Return the records of each system of the shared LogHub sets."""
    results: Sets = collections.defaultdict(list)
    for record in common.records(data, "log_loghub"):
        results[record["system"]].append(record)
    return dict(results)


def read_loghub(folder: Path) -> Sets:
    """Return the records of LogHub's files in a folder."""
    results: Sets = {}
    for path in sorted(folder.rglob("*_2k.log_structured.csv")):
        name = path.name.split("_")[0]
        with path.open(newline="", encoding="utf-8") as file:
            results[name] = [
                {"system": name, "event": row["EventId"], "template": row["EventTemplate"], "text": row["Content"]}
                for row in csv.DictReader(file)
            ]
    return results


def split_sets(data: Path, loghub: Path | None, *, sealed: bool) -> dict[str, Sets]:
    """Return the systems of each part, with their lines shuffled."""
    shared = sets(data)
    others = {} if loghub is None else read_loghub(loghub)
    programs = program_logs.read()
    choosing = {name: programs.pop(name) for name in program_logs.CHOOSING}
    blind = blind_logs.read()
    choosing |= {name: blind.pop(name) for name in blind_logs.CHOOSING}
    parts = {
        "choosing": {**shared, **generate(log_sources.CHOOSING), **choosing},
        "showing": {
            **{name: rows for name, rows in others.items() if name not in shared},
            **generate(log_sources.SHOWING),
        },
    }
    if sealed:
        parts["sealed"] = generate(log_sources.SEALED)
        parts["programs"] = programs
        parts["new"] = {name: blind.pop(name) for name in blind_logs.SEVENTH}
        parts["latest"] = {name: blind.pop(name) for name in blind_logs.EIGHTH}
        parts["blind"] = blind
    for part in parts.values():
        for name, records in part.items():
            random.Random(f"order {name}").shuffle(records)
    return parts


def generate(names: Iterable[str]) -> Sets:
    return {name: log_sources.records(name) for name in names}


def normalise(template: str) -> str:
    """Normalise a template: words with variables are variables, adjacent ones are merged."""
    words: list[str] = []
    for word in re.sub(r"\{optional\} ?|\{[a-z]+\}|<NUM>", "<*>", template).split():
        word = "<*>" if "<*>" in word else word
        if word != "<*>" or words[-1:] != ["<*>"]:
            words.append(word)
    return " ".join(words)


def scores(records: Sequence[dict[str, Any]], parsed: Parsed) -> dict[str, float]:
    """Return GA, FGA, PA and FTA of one set."""
    groups: dict[Any, set[int]] = collections.defaultdict(set)
    events: dict[str, set[int]] = collections.defaultdict(set)
    for row, (record, group) in enumerate(zip(records, parsed[0], strict=True)):
        groups[group].add(row)
        events[record["event"]].add(row)
    results = {frozenset(rows) for rows in groups.values()}
    right = [rows for rows in events.values() if frozenset(rows) in results]
    same = [normalise(r["template"]) == normalise(t) for r, t in zip(records, parsed[1], strict=True)]
    both = sum(all(same[row] for row in rows) for rows in right)
    return {
        "GA": sum(map(len, right)) / len(records),
        "FGA": 2 * len(right) / (len(groups) + len(events)),
        "PA": sum(same) / len(records),
        "FTA": 2 * both / (len(groups) + len(events)),
        "templates": len(groups),
        "events": len(events),
    }


def find_contradictions(records: Sequence[dict[str, Any]]) -> dict[str, set[int]]:
    """Return the rows whose labels contradict others, by kind.

    - *apart*: lines that differ in numbers alone have different events;
    - *other*: the template of the line's event does not match the line, so the event has several texts;
    - *both*: the template of another event matches the line as well.
    """
    events: dict[str, set[str]] = collections.defaultdict(set)
    by_event: dict[str, set[str]] = collections.defaultdict(set)
    for record in records:
        events[re.sub(r"\d+", "0", record["text"])].add(record["event"])
        by_event[record["event"]].add(record["template"])

    pieces = {event: [split_template(template) for template in templates] for event, templates in by_event.items()}
    results: dict[str, set[int]] = {"apart": set(), "other": set(), "both": set()}
    for row, record in enumerate(records):
        text = " ".join(record["text"].split())
        matching = {event for event, each in pieces.items() if any(matches(one, text) for one in each)}
        if len(events[re.sub(r"\d+", "0", record["text"])]) > 1:
            results["apart"].add(row)
        if record["event"] not in matching:
            results["other"].add(row)
        if matching - {record["event"]}:
            results["both"].add(row)
    return results


def split_template(template: str) -> list[str]:
    """Return the texts between the variables of a template; blanks next to a variable may belong to it."""
    return re.split(r" ?<\*> ?", " ".join(template.split()))


def matches(pieces: list[str], text: str) -> bool:
    """Return true if the text has these pieces in order, the first at its start and the last at its end."""
    if len(pieces) == 1 or not text.startswith(pieces[0]) or not text.endswith(pieces[-1]):
        return pieces == [text]
    at, end = len(pieces[0]), len(text) - len(pieces[-1])
    for piece in pieces[1:-1]:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return at <= end


def without(rows: set[int], records: Sequence[dict[str, Any]], parsed: Parsed) -> dict[str, float]:
    """Return the scores of the other rows; all rows were parsed together."""
    kept = [row for row in range(len(records)) if row not in rows]
    return scores([records[row] for row in kept], ([parsed[0][row] for row in kept], [parsed[1][row] for row in kept]))


def parse_nearkin(lines: list[str]) -> Parsed:
    result = nk.LogTemplates().fit(lines).match_many(lines)
    return result["id"].to_pylist(), result["pattern"].to_pylist()


PEER_PROGRAM = r"""
import collections, contextlib, io, json, os, re, sys, tempfile, time
name, sets = sys.argv[1], json.load(sys.stdin)

def drain(masks):
    from drain3 import TemplateMiner
    from drain3.masking import MaskingInstruction
    from drain3.template_miner_config import TemplateMinerConfig
    config = TemplateMinerConfig()
    # The masks of drain3's example, drain3.ini.
    if masks:
        config.masking_instructions = [MaskingInstruction(pattern, mask) for pattern, mask in [
            (r"((?<=[^A-Za-z0-9])|^)(([0-9a-f]{2,}:){3,}([0-9a-f]{2,}))((?=[^A-Za-z0-9])|$)", "ID"),
            (r"((?<=[^A-Za-z0-9])|^)(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})((?=[^A-Za-z0-9])|$)", "IP"),
            (r"((?<=[^A-Za-z0-9])|^)([0-9a-f]{6,} ?){3,}((?=[^A-Za-z0-9])|$)", "SEQ"),
            (r"((?<=[^A-Za-z0-9])|^)([0-9A-F]{4} ?){4,}((?=[^A-Za-z0-9])|$)", "SEQ"),
            (r"((?<=[^A-Za-z0-9])|^)(0x[a-f0-9A-F]+)((?=[^A-Za-z0-9])|$)", "HEX"),
            (r"((?<=[^A-Za-z0-9])|^)([\-\+]?\d+)((?=[^A-Za-z0-9])|$)", "NUM"),
            (r"(?<=executed cmd )(\".+?\")", "CMD"),
        ]]
    def parse(system, lines):
        miner = TemplateMiner(config=config)
        ids = [miner.add_log_message(line)["cluster_id"] for line in lines]
        texts = {one.cluster_id: re.sub(r"<[A-Z]+>", "<*>", one.get_template()) for one in miner.drain.clusters}
        return ids, [texts[one] for one in ids]
    return parse

def brain():
    import pandas
    from logparser.Brain import LogParser
    def parse(system, lines):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            with open(os.path.join(folder, "log"), "w") as out:
                out.writelines(" ".join(line.split("\n")) + "\n" for line in lines)
            LogParser(system, "<Content>", folder, folder, 2, [], []).parse("log")
            rows = pandas.read_csv(os.path.join(folder, "log_structured.csv"), keep_default_na=False)
        return rows["EventId"].tolist(), rows["EventTemplate"].tolist()
    return parse

parse = {"drain3": lambda: drain(False), "drain3 masks": lambda: drain(True), "brain": brain}[name]()
found = {}
for system, lines in sets.items():
    start = time.process_time()
    ids, texts = parse(system, lines)
    found[system] = {"ids": ids, "texts": texts, "seconds": time.process_time() - start}
json.dump(found, sys.stdout)
"""


def run_peer(python: str, name: str, all_sets: Sets) -> dict[str, Any]:
    options = json.dumps({system: [record["text"] for record in records] for system, records in all_sets.items()})
    done = subprocess.run(
        [python, "-c", PEER_PROGRAM, name], input=options, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    results: dict[str, Any] = json.loads(done.stdout)
    return results


def quality(parts: dict[str, Sets], python: str | None) -> dict[str, Any]:
    """Score every parser on every system of each part."""
    return {part: score_part(part, systems, python) for part, systems in parts.items()}


def score_part(part: str, systems: Sets, python: str | None) -> dict[str, Any]:
    """Score every parser on the systems of one part."""
    results: dict[str, Any] = {"nearkin": {}, CONSISTENT: {}}
    for system, records in systems.items():
        lines = [record["text"] for record in records]
        cpu, _, parsed = common.timed(lambda lines=lines: parse_nearkin(lines))
        results["nearkin"][system] = {**scores(records, parsed), "seconds": cpu}
        kinds = find_contradictions(records)
        rest = without(set().union(*kinds.values()), records, parsed)
        counts = {kind: len(rows) for kind, rows in kinds.items()}
        results[CONSISTENT][system] = {**rest, "seconds": cpu, "contradictory": counts}
        print(f"  labels of {system}: {counts} of {len(records)} lines contradict others")
    for name in ("drain3", "drain3 masks", "brain") if python else ():
        result = run_peer(python or sys.executable, name, systems)
        results[name] = {
            system: {
                **scores(records, (result[system]["ids"], result[system]["texts"])),
                "seconds": result[system]["seconds"],
            }
            for system, records in systems.items()
        }
    print(f"{part}: {', '.join(systems)}")
    for name, by_system in results.items():
        mean = {key: sum(item[key] for item in by_system.values()) / len(by_system) for key in MEASURES}
        lowest = min(by_system, key=lambda system: by_system[system]["GA"])
        rate = sum(map(len, systems.values())) / sum(item["seconds"] for item in by_system.values())
        figures = " ".join(f"{key} {value:.3f}" for key, value in mean.items())
        print(f"  {name:26} {figures}  lowest GA {by_system[lowest]['GA']:.3f} ({lowest}) {rate:12,.0f} lines/s")
        for system, item in by_system.items():
            figures = " ".join(f"{key} {item[key]:.3f}" for key in MEASURES)
            print(f"    {system:12} {figures}  {item['templates']} templates, {item['events']} events")
        results[name]["mean"] = {**mean, "lowest": lowest, "lines_per_second": rate}
    return results


def fresh(data: Path, count: int) -> pa.Array:
    """Return lines of the shared sets in mixed order; every second one gets other numbers of three digits or more."""
    rng = random.Random(20251121)
    lines = [record["text"] for records in sets(data).values() for record in records]
    result = [rng.choice(lines) for _ in range(count)]

    def number(old: re.Match[str]) -> str:
        return str(rng.randrange(10 ** (len(old[0]) - 1), 10 ** len(old[0])))

    return pa.array([re.sub(r"\d{3,}", number, line) if n % 2 else line for n, line in enumerate(result)])


def speed(data: Path, python: str | None) -> dict[str, float]:
    """Measure lines per CPU second of one thread."""
    nk.set_num_threads(1)
    column = fresh(data, 1_000_000)
    lines = column.to_pylist()
    results: dict[str, float] = {"bytes a line": column.nbytes / len(column)}
    templates = nk.LogTemplates().fit(column)
    calls = {
        "fit, column": common.timer(lambda: nk.LogTemplates().fit(column)),
        "fit, list of str": common.timer(lambda: nk.LogTemplates().fit(lines)),
        "match, column": common.timer(templates.match_many, column),
        "match, list of str": common.timer(templates.match_many, lines),
        "match, one by one": common.timer(lambda: [templates.match(line) for line in lines[:ONE_BY_ONE]]),
    }
    counts = dict.fromkeys(calls, len(lines)) | {"match, one by one": ONE_BY_ONE}
    cpu, _, results["templates"] = common.timed(lambda: len(templates))
    results["merging, seconds"] = cpu
    results |= {name: counts[name] / figures["cpu"] for name, figures in common.rounds(calls, 3).items()}
    mixed = {"mixed": [{"text": line} for line in lines[:100_000]]}
    for name in ("drain3", "drain3 masks", "brain") if python else ():
        results[name] = len(mixed["mixed"]) / run_peer(python or sys.executable, name, mixed)["mixed"]["seconds"]
        print(f"{name:24} {results[name]:12,.0f} lines/s")
    return results


def grow(millions: int) -> None:
    """Fit lines of 1,000 templates; print the memory of process and state after each million."""
    nk.set_num_threads(1)
    rng = np.random.default_rng(5)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 6)) for _ in range(3000)]
    shapes = [" ".join(rng.choice(words, 6)) for _ in range(1000)]
    templates = nk.LogTemplates()
    for million in range(millions):
        for _ in range(10):
            which, ids = rng.integers(0, 1000, 100_000).tolist(), rng.integers(0, 1 << 40, 100_000).tolist()
            rows = zip(which, ids, strict=True)
            templates.partial_fit(
                [f"{shapes[k]} id={n} from 10.0.{n % 251}.{n % 241} took {n % 977} ms" for k, n in rows]
            )
        # Not `ru_maxrss`: a process has that of its parent.
        resident = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) // 1000
        print(million + 1, resident, templates.memory // 1_000_000, len(templates), flush=True)


def memory(millions: int) -> dict[str, Any]:
    """Run `grow` in its own process."""
    call = [sys.executable, "-c", f"import patterns_lines; patterns_lines.grow({millions})"]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    for lines, resident, state, count in rows:
        print(f"{lines:4} million lines: {resident} MB resident, {state} MB of state, {count} templates")
    return {"rows": rows, "columns": ["million lines", "resident MB", "state MB", "templates"]}


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--part", {"choices": ["quality", "speed", "memory"], "help": "run only this part"}),
        ("--peers", {"help": "a Python interpreter with drain3 and logparser3"}),
        ("--sealed", {"action": "store_true", "help": "also measure the sealed part"}),
        ("--loghub", {"type": Path, "help": "a folder with more LogHub sets"}),
        ("--millions", {"type": int, "default": 10, "help": "lines of the memory part"}),
    )
    parts: dict[str, Callable[[], Any]] = {
        "quality": lambda: quality(split_sets(options.data, options.loghub, sealed=options.sealed), options.peers),
        "speed": lambda: speed(options.data, options.peers),
        "memory": lambda: memory(options.millions),
    }
    results = common.measure_parts(parts, [options.part] if options.part else None)
    print(common.save("patterns-lines", {"results": results}, versions=common.versions()))


if __name__ == "__main__":
    main()
