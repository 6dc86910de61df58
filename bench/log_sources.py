"""Generated logs whose templates are known: 17 sources in the manner of common programs.

Each source is a list of templates in `data/log_sources.txt`. `{kind}` is a variable, drawn by a rule of `VALUES`;
`[[...]]` is an optional part, present in half of the lines; `~~...~~` are fields that are separated by blanks and
printed in any order. The variation is that of real logs: optional parts, values of several types at one position, rare
constants next to frequent variables, leader dots and missing readings, lists of any length, quoted strings, JSON, stack
traces.

The sources are divided into three parts. Rules and constants of `nearkin.patterns` may be chosen on `CHOOSING`.
`SHOWING` shows what they reach. `SEALED` was written with the others, before the rules, and was measured once, at the
end.
"""

# ruff: noqa: SIM905

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import common

Rule = Callable[[random.Random], str]

FIRST = "ann bob cid dan eve fay gus hal ida jon kim leo max ned ola pia quin ray sue tom uma vic wes zoe".split()
NOUNS = "cache index batch shard report invoice ledger basket token queue bucket stream window parcel ticket".split()
TEXTS = (
    "disk is full;no route to host;file not found;permission denied by policy;checksum does not match;"
    "peer closed the stream early;quota exceeded;unexpected end of input;lock is held by another process;retry later"
).split(";")
TOP = ["com", "org", "net", "io"]


def _number(low: int, high: int) -> Rule:
    return lambda r: str(r.randrange(low, high))


def _letters(r: random.Random, low: int, high: int) -> str:
    return "".join(r.choice("abcdefghiklmnoprstuvw") for _ in range(r.randrange(low, high)))


def _ip(r: random.Random) -> str:
    return ".".join(str(r.randrange(1, 255)) for _ in range(4))


def _host(r: random.Random) -> str:
    return f"{r.choice(['db', 'web', 'app', 'mx', 'cdn'])}{r.randrange(1, 30)}.{_letters(r, 4, 8)}.{r.choice(TOP)}"


def _path(r: random.Random) -> str:
    return "/" + "/".join(_letters(r, 3, 8) for _ in range(r.randrange(1, 5))) + r.choice(["", ".log", ".py", ".conf"])


def write_hex(digits: int) -> Rule:
    """Return a rule for hexadecimal numbers of so many digits."""
    return lambda r: f"{r.randrange(16**digits):0{digits}x}"


def _json(r: random.Random) -> str:
    keys = r.sample(["id", "user", "ok", "tags", "note", "size"], r.randrange(1, 5))
    value = {"id": r.randrange(10**6), "user": r.choice(FIRST), "ok": r.random() < 0.5, "tags": r.sample(NOUNS, 2)}
    value |= {"note": r.choice(TEXTS), "size": r.random()}
    return json.dumps({key: value[key] for key in keys})


def _either(rate: float, rare: str, rule: Rule) -> Rule:
    return lambda r: rare if r.random() < rate else rule(r)


def _list(rule: Rule, separator: str, most: int) -> Rule:
    return lambda r: separator.join(rule(r) for _ in range(r.randrange(1, most)))


def _frames(r: random.Random) -> str:
    def frame() -> str:
        name = f"{r.choice(TOP)}.{_letters(r, 4, 7)}.{_letters(r, 4, 8).title()}"
        return f"\tat {name}.{_letters(r, 3, 7)}({_letters(r, 4, 8).title()}.java:{r.randrange(1, 900)})"

    return "\n".join(frame() for _ in range(r.randrange(1, 9)))


_INT, _BIG = _number(0, 5000), _number(10**6, 10**9)
VALUES: dict[str, Rule] = {
    "int": _INT,
    "big": _BIG,
    "small": _number(0, 9),
    "port": _number(1024, 65535),
    "pid": _number(100, 40000),
    "float": lambda r: f"{r.random() * 100:.3f}",
    "either": lambda r: str(r.randrange(10**4)) if r.random() < 0.7 else f"{r.randrange(10, 16**4):x}",
    "hex": lambda r: f"0x{r.randrange(16**6):x}",
    "hex8": write_hex(8),
    "sha": write_hex(40),
    "uuid": lambda r: f"{write_hex(8)(r)}-{write_hex(4)(r)}-{write_hex(4)(r)}-{write_hex(4)(r)}-{write_hex(12)(r)}",
    "ip": _ip,
    "ipport": lambda r: f"{_ip(r)}:{r.randrange(1024, 65535)}",
    "host": _host,
    "hostport": lambda r: f"{_host(r)}:{r.randrange(1024, 65535)}",
    "source": _either(0.01, "LOCAL(0)", _ip),
    "client": _either(0.02, "localhost", _ip),
    "mac": lambda r: ":".join(write_hex(2)(r) for _ in range(6)),
    "user": lambda r: r.choice(FIRST),
    "few": lambda r: r.choice(FIRST[:5]),
    "noun": lambda r: r.choice(NOUNS),
    "name": lambda r: f"{r.choice(NOUNS)}-{r.randrange(1, 40)}",
    "node": lambda r: f"node-{r.randrange(1, 300)}",
    "package": lambda r: f"{_letters(r, 3, 9)}{r.choice(['', '-core', '-utils', '_sys'])}",
    "class": lambda r: f"{r.choice(TOP)}.{_letters(r, 4, 7)}.{_letters(r, 4, 9).title()}",
    "unit": lambda r: f"{_letters(r, 4, 9)}.service",
    "version": lambda r: f"{r.randrange(3)}.{r.randrange(20)}.{r.randrange(30)}",
    "path": _path,
    "url": lambda r: f"http://{_host(r)}{_path(r)}",
    "ms": lambda r: f"{r.randrange(1, 3000)}ms",
    "secs": lambda r: f"{r.random() * 20:.2f}s",
    "size": lambda r: f"{r.random() * 90:.2f} {r.choice(['KB', 'MB', 'GB'])}",
    "clock": lambda r: f"{r.randrange(24):02}:{r.randrange(60):02}:{r.randrange(60):02}",
    "lifetime": _either(0.2, "<1 sec", lambda r: f"{r.randrange(60):02}:{r.randrange(60):02}"),
    "null": _either(0.2, "null", _BIG),
    "work": lambda r: "null" if r.random() < 0.6 else f"WorkSource{{{r.randrange(10000, 10200)}}}",
    "dash": _either(0.3, "-", _number(1, 9000)),
    "ints": _list(_INT, ", ", 8),
    "words": _list(lambda r: r.choice(NOUNS), ", ", 6),
    "nodes": _list(lambda r: f"node{r.randrange(1, 300)}", ",", 7),
    "text": lambda r: r.choice(TEXTS),
    "json": _json,
    "frames": _frames,
    "reading": _number(3000, 4000),
    "yesno": lambda r: r.choice(["yes", "no"]),
}

ALL = common.sections("log_sources.txt")
CHOOSING = ("nginx", "sshd", "systemd", "cargo", "service", "vpn", "resolver")
SHOWING = ("postgres", "pytest", "kernel", "proxy", "device")
SEALED = ("postfix", "cluster", "balancer", "broker", "hardware")

_VARIABLE = re.compile(r"\{([a-z0-9]+)\}")
_OPTIONAL = re.compile(r"\[\[(.*?)\]\](?!\])")
_FIELDS = re.compile(r"~~(.*?)~~")


def write_line(template: str, r: random.Random, values: dict[str, Rule] = VALUES) -> str:
    """Return a line of a template, with the values of its variables by rule."""
    text = _OPTIONAL.sub(lambda part: part[1] if r.random() < 0.5 else "", template)

    def shuffle(part: re.Match[str]) -> str:
        fields = part[1].split(" ")
        r.shuffle(fields)
        return " ".join(fields)

    text = _FIELDS.sub(shuffle, text)
    return _VARIABLE.sub(lambda name: values[name[1]](r), text)


def write_template(template: str) -> str:
    """Return the true template, with `<*>` for variables and optional parts."""
    text = _FIELDS.sub(lambda part: part[1], _OPTIONAL.sub("<*>", template))
    # An optional part hides the blanks on both of its sides.
    return _VARIABLE.sub("<*>", re.sub(r" ?<\*> ?(?=[a-z])", "<*>", text) if "[[" in template else text)


def records(name: str, count: int = 2000) -> list[dict[str, Any]]:
    """Return the records of a source: events are frequent or rare, as in a log."""
    r = random.Random(f"20261127 {name}")
    templates = ALL[name].replace("\n{frames}", "\r{frames}").split("\n")
    templates = [template.replace("\r", "\n") for template in templates]
    order = r.sample(range(len(templates)), len(templates))
    weights = [1 / (1 + order[number]) for number in range(len(templates))]
    picks = [*range(len(templates)), *r.choices(range(len(templates)), weights, k=count - len(templates))]
    r.shuffle(picks)
    return [
        {
            "id": f"{name}:{row}",
            "system": name,
            "event": f"{name}:{number}",
            "template": write_template(templates[number]),
            "text": write_line(templates[number], r),
        }
        for row, number in enumerate(picks)
    ]
