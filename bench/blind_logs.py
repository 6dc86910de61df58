"""Logs for a blind test of templates: `bench/data/blind_logs.jsonl.gz`.

    PYTHONPATH=$PWD/python:LIBRARIES python bench/blind_logs.py [--only NAME]

Real programs run with the hook of `program_logs.py`, so that each line's template is the format of its logging call.
Their authors wrote the texts, and whoever wrote this file had not read the miner. Only loopback addresses are used.
The other sources are generated from templates in the manner of known systems, with the rules of `log_sources.py`. The
n-th template of a source is chosen with a weight of n^-1.2, so that some events are rare.

The first sources:

- programs: *bans*: log files watched for attacks (fail2ban); *calendar*: a CalDAV server (radicale); *objects*: an
  object database (ZEO, ZODB); *jobs*: task queues (dramatiq, huey); *chat*: a Matrix server (synapse)
- generated: *directory* (OpenLDAP), *switch* (Cisco IOS), *leases* (ISC dhcpd) and *game* (a Minecraft server)

After a measurement of all, rules were chosen on them: they are `CHOOSING`. The second sources were written then, again
by someone who had not read the miner:

- programs: *fieldbus*: drives on a virtual CAN bus (canopen); *workers*: a cluster of workers (distributed);
  *binaries*: programs that are disassembled and executed symbolically (angr); *tracker*: an issue tracker with a Git
  repository (Trac); *notebooks*: a notebook server with its kernels (jupyter_server)
- generated: *servicing* (updates of Windows), *kubelet* (Kubernetes), *appserver* (Tomcat, Spring, WebLogic), *phone*
  (Android) and *torus* (the events of a Blue Gene supercomputer)

The errors of four of those were read after a measurement, and they joined `CHOOSING`. The third sources were written
then, once more by someone who had not read the miner:

- generated: *scheduler* (Slurm), *steps* (a step counter with fields between bars), *compute* (the services of
  OpenStack), *voice* (Asterisk) and *hub* (a smart home)

The errors of two of those were read in the same way, and later those of all second and third sources. The fourth
sources were written then, again by someone who had
not read the miner:

- programs: *bot*: a chat bot on an IRC server (sopel); *accessories*: smart-home devices and their controller
  (HAP-python, aiohomekit, zeroconf); *flows*: workflows of command-line tools (cwltool)
- generated: *engine* (Elasticsearch), *documents* (the JSON lines of MongoDB), *firewall* (Cisco ASA, netfilter,
  pfSense), *laptop* (the kernel of a Linux laptop), *storage* (Ceph), *payments* (a payment gateway) and *baggage* (the
  controllers of an airport's baggage system)

The fifth sources were written after that, again by someone who had not read the miner. Each is of a system that many
people run and that no other source has, with as many hosts, users and names as one installation has:

- generated: *tables* (the error log of MySQL), *audit* (the records of auditd), *shop* (a Rails application with its
  jobs), *containers* (logfmt of containerd and Docker), *metrics* (logfmt of Prometheus, Alertmanager, Loki and
  Grafana), *partitions* (Kafka's brokers and clients), *perimeter* (firewalls: pairs of FortiGate and comma-separated
  fields of Palo Alto), *domain* (security events of Windows as one line of text) and *relay* (Rust services that log
  with the spans of tracing)

After a measurement the errors of seven of the fourth and four of the fifth sources were read. The sixth sources were
written then, in the same way, half of them in the manner of systems of LogHub that are not in the shared data:

- generated: *thunder* (the syslog of a supercomputer, as Thunderbird), *cluster2* (the nodes of a cluster, as HPC),
  *proxifier* (a proxy client), *handset* (Android) and *racks* (the events of a Blue Gene/L); *sqlserver* (the error
  log of SQL Server), *rabbit* (RabbitMQ), *hypervisor* (VMware ESXi), *build* (Jenkins, runners of GitLab, builds of
  images) and *journal* (a server with Ubuntu)

After a measurement the errors of five of those were read. The author of the rules wrote the seventh sources, before a
change of the rules, with what they were known to get wrong: methods of HTTP, calls, names in brackets, lists of nodes,
and codes that are constants:

- generated: *slurm*, *asterisk*, *mailer* (Postfix), *arena* (a game server), *scada*, *openstack*, *haproxy*,
  *cassandra*, *bind*, *samba*, *vault*, *erlang* (reports of crashes and supervisors), *mainframe* (the console of
  z/OS), *airflow* and *jenkins*

After a measurement the errors of some of those were read, and steps that gained little on them and on the sealed
sources were deleted. The author wrote the eighth sources before a measurement of them:

- generated: *kea* (DHCP), *nagios*, *vsftpd*, *terraform*, *etcd* (objects of JSON) and *turbine* (a park of
  wind turbines)

What is sealed chose no rule, except which steps were deleted. The templates of generated
sources and their values are in `data/blind_logs.txt`, the programs in `data/programs`.

`LIBRARIES` are folders into which pip installed radicale, ZEO, dramatiq, huey and matrix-synapse; canopen, distributed,
Trac, multipart and `setuptools<81`; angr, `bitstring<4.3` and `pycparser==3.0`; jupyter_server, ipykernel and
nbconvert; sopel; `HAP-python[QRCode]` and aiohomekit; cwltool; and the folder of Debian's fail2ban. Ports are chosen at
random, and threads race: a second run gives other lines.
"""

from __future__ import annotations

import collections
import json
import random
import re
import uuid
from typing import Any

import common
import log_sources
import program_logs

PATH = common.DATA / "blind_logs.jsonl.gz"
FIRST = ("bans", "calendar", "objects", "jobs", "chat", "directory", "switch", "leases", "game")
"""The first sources, which have more lines."""
SECOND = (
    *("fieldbus", "workers", "binaries", "tracker", "notebooks"),
    *("servicing", "kubelet", "appserver", "phone", "torus"),
)
THIRD = ("scheduler", "steps", "compute", "voice", "hub")
LATER = (
    *("flows", "engine", "documents", "firewall", "storage", "payments", "baggage", "audit", "shop"),
    *("containers", "domain", "proxifier", "sqlserver", "rabbit", "hypervisor", "journal"),
)
CHOOSING = (*FIRST, *SECOND, *THIRD, *LATER)
"""Sources whose errors were read after a blind test, so that rules may be chosen on them; the others are sealed."""
MAX_LINES = 2500
"""Lines of a program, so that the file stays small: `program_logs.records` returns them in a random order."""
SEVENTH = (
    *("slurm", "asterisk", "mailer", "arena", "scada", "openstack", "haproxy", "cassandra", "bind", "samba"),
    *("vault", "erlang", "mainframe", "airflow", "jenkins"),
)
"""The seventh sources, which are all generated."""
EIGHTH = ("kea", "nagios", "vsftpd", "terraform", "etcd", "turbine")
"""The eighth sources, which are all generated."""
LINES_SECOND = 1000
"""Lines of a generated source that is not among the first ones."""
MAX_LINES_SECOND = 1500
"""Lines of a program of the second and fourth ones, at most 120 of an event."""
MAX_EVENT_SECOND = 120
MAX_SECONDS = 90
"""A program of the second and fourth ones ends then."""

PROGRAMS = (
    *("bans", "calendar", "objects", "jobs", "chat", "fieldbus", "workers", "binaries", "tracker", "notebooks"),
    *("bot", "accessories", "flows"),
)
SOURCES = {name: text.split("\n") for name, text in common.sections("blind_logs.txt").items()}
"""The templates of each generated source, and under `values` those of variables, each with its name before it.

Under `lists` are the variables that are lists: name, texts, separator and the most texts.
"""
GENERATED = [name for name in SOURCES if name not in ("values", "lists")]
# The event loop of asyncio has its own messages, which `program_logs.py` has already.
QUIET = "import logging; logging.getLogger('asyncio').disabled = True\n"
# Threads of some programs never end, and some programs log the names of the environment.
START = f"""
import os, threading
threading.Timer({MAX_SECONDS}, os._exit, (0,)).start()
for name in set(os.environ) - {{"HOME", "LANG", "PATH", "PYTHONPATH"}}:
    del os.environ[name]
"""


def _choice(texts: str) -> log_sources.Rule:
    """Return a rule that picks one of the texts, and fills its variables."""
    return lambda r: log_sources.write_line(r.choice(texts.split("|")), r, VALUES)


def _list(texts: str, separator: str, count: int) -> log_sources.Rule:
    """Return a rule that joins up to `count` texts."""
    return lambda r: separator.join(_choice(texts)(r) for _ in range(r.randrange(1, count + 1)))


VALUES: dict[str, log_sources.Rule] = {
    **log_sources.VALUES,
    **{f"hex{digits}": log_sources.write_hex(digits) for digits in (2, 4, 6, 7, 12, 16)},
    **{name: _list(*rule) for name, *rule in map(json.loads, SOURCES["lists"])},
    "count": lambda r: str(r.randrange(1, 99)),
    "percent": lambda r: str(r.randrange(101)),
    "port2": lambda r: str(r.randrange(1, 49)),
    "sha64": log_sources.write_hex(64),
    # One host has some tens of containers, and one request logs several lines.
    "cdsha": lambda r: f"{random.Random(r.randrange(40)).randrange(16**64):064x}",
    "rbrid": lambda r: str(uuid.UUID(int=random.Random(r.randrange(150)).randrange(16**32), version=4)),
    **{line.partition("|")[0]: _choice(line.partition("|")[2]) for line in SOURCES["values"]},
}


def true_template(name: str, template: str) -> str:
    """Return the true template of a generated source.

    In the second and third sources an optional part takes along the blank after it, and other variables keep their
    blanks. In the fourth and later ones all blanks of the format are kept: an optional part is a variable that is empty
    in some lines.
    """
    if name not in FIRST:
        blank = " ?" if name in (*SECOND, *THIRD) else ""
        template = re.sub(rf"\[\[.*?\]\](?!\]){blank}", "{optional}", template)
    return log_sources.write_template(template)


def generate(name: str) -> list[dict[str, Any]]:
    """Return 2,000 or 1,000 lines of a generated source: each template once, the others by weight."""
    count = 2000 if name in FIRST else LINES_SECOND
    r = random.Random(f"blind {name}")
    templates = SOURCES[name]
    weights = [(1 + number) ** -1.2 for number in range(len(templates))]
    chosen = templates + r.choices(templates, weights, k=count - len(templates))
    r.shuffle(chosen)
    results = []
    for template in chosen:
        true = true_template(name, template)
        text = log_sources.write_line(template, r, VALUES)
        results.append({"system": name, "event": true, "template": true, "text": text})
    return results


def collect(name: str) -> list[dict[str, Any]]:
    """Return the records of a program in a random order."""
    if name in FIRST:
        return program_logs.records(name, program_logs.run(QUIET + program_logs.source(name)))[:MAX_LINES]
    counts: collections.Counter[str] = collections.Counter()
    results = []
    for row in program_logs.records(name, program_logs.run(START + QUIET + program_logs.source(name))):
        counts[row["event"]] += 1
        if counts[row["event"]] <= MAX_EVENT_SECOND and len(row["text"]) <= program_logs.MAX_CHARACTERS_SECOND:
            results.append(row)
    return results[:MAX_LINES_SECOND]


def read() -> dict[str, list[dict[str, Any]]]:
    """Return the saved records of each source."""
    return program_logs.read(PATH)


def main() -> None:
    names = [*PROGRAMS, *GENERATED]
    options = common.arguments(__doc__, ("--only", {"choices": names, "help": "run only this source"}))
    results = read() if PATH.exists() else {}
    for name in names:
        if options.only in (None, name):
            rows = collect(name) if name in PROGRAMS else generate(name)
            results[name] = [{"kind": "program" if name in PROGRAMS else "generated", **row} for row in rows]
            events = collections.Counter(record["event"] for record in results[name])
            print(f"{name:10} {len(results[name]):6} lines, {len(events):4} events")
    program_logs.write(PATH, {name: results[name] for name in names if name in results})


if __name__ == "__main__":
    main()
