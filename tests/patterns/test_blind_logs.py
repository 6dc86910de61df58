"""The blind logs of the benchmark: their records, and that each line is an instance of its template."""

from __future__ import annotations

import collections
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
REAL = ["bans", "calendar", "objects", "jobs", "chat", "fieldbus", "workers", "binaries", "tracker", "notebooks"]
REAL += ["bot", "accessories", "flows"]
GENERATED = ["directory", "switch", "leases", "game", "servicing", "kubelet", "appserver", "phone", "torus"]
GENERATED += ["scheduler", "steps", "compute", "voice", "hub"]
FOURTH = ["engine", "documents", "firewall", "laptop", "storage", "payments", "baggage"]
FIFTH = ["tables", "audit", "shop", "containers", "metrics", "partitions", "perimeter", "domain", "relay"]
SIXTH = ["thunder", "cluster2", "proxifier", "handset", "racks"]
SIXTH += ["sqlserver", "rabbit", "hypervisor", "build", "journal"]
SEVENTH = ["slurm", "asterisk", "mailer", "arena", "scada", "openstack", "haproxy", "cassandra", "bind", "samba"]
SEVENTH += ["vault", "erlang", "mainframe", "airflow", "jenkins"]
EIGHTH = ["kea", "nagios", "vsftpd", "terraform", "etcd", "turbine"]
SEALED = ["bot", "accessories", "laptop", "tables", "metrics", "partitions", "perimeter", "relay"]
SEALED += ["thunder", "cluster2", "handset", "racks", "build"]
GENERATED += [*FOURTH, *FIFTH, *SIXTH, *SEVENTH, *EIGHTH]


Systems = dict[str, list[dict[str, str]]]


@pytest.fixture(scope="module")
def blind_logs() -> Iterator[Any]:
    """Return `bench/blind_logs.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield importlib.import_module("blind_logs")


@pytest.fixture(scope="module")
def systems(blind_logs: Any) -> Systems:
    """Return the records of each source."""
    read: Systems = blind_logs.read()
    return read


def test_every_line_is_an_instance_of_its_template(systems: Systems) -> None:
    """A variable is any text, also none."""
    for name, records in systems.items():
        texts: dict[str, set[str]] = {}
        for record in records:
            texts.setdefault(record["template"], set()).add(record["text"])
        for template, lines in texts.items():
            expression = re.compile(".*?".join(re.escape(part) for part in template.split("<*>")), re.DOTALL)
            assert [] == [line for line in lines if not expression.fullmatch(line)], template
            constant = template.replace("<*>", "")
            # Registers, and the items of a list, have no letters.
            assert re.search("[a-zA-Z]", constant) or (name in SIXTH and constant.strip()), template


def test_every_source_has_events_that_recur(systems: Systems) -> None:
    """A source has at least 15 events; a program has at most 400 lines of an event."""
    assert [*REAL, *GENERATED] == list(systems)
    for name, records in systems.items():
        assert {"kind", "system", "event", "template", "text"} == set().union(*records)
        assert {(name, "program" if name in REAL else "generated")} == {(row["system"], row["kind"]) for row in records}
        events = collections.Counter(record["event"] for record in records)
        assert (len(events) >= 15, len(records) >= 1000) == (True, True)
        assert name in GENERATED or max(events.values()) <= 400


def test_the_sources_that_chose_rules_are_not_blind(blind_logs: Any, shared: Path) -> None:
    """The benchmark has each source in one part: thirteen are sealed."""
    lines = importlib.import_module("patterns_lines")
    parts = lines.split_sets(shared / "data", None, sealed=True)
    assert (sorted(parts["blind"]), list(parts["new"]), list(parts["latest"])) == (sorted(SEALED), SEVENTH, EIGHTH)
    assert set(blind_logs.CHOOSING) <= set(parts["choosing"])


def test_generated_lines_do_not_change(blind_logs: Any, systems: Systems) -> None:
    """The saved lines of a generated source are those that its templates give."""
    for name in GENERATED:
        assert systems[name] == [{"kind": "generated", **row} for row in blind_logs.generate(name)]
        templates = {blind_logs.true_template(name, line) for line in blind_logs.SOURCES[name]}
        assert templates == {row["template"] for row in systems[name]}
