"""Groups of attack payloads: how many, how pure, how fast.

1. *Public strings*: the anomalous values of HttpParamsDataset (sqlmap, xssya, Vega, FuzzDB). The figures are the number
   of groups and the number of strings in groups of two or more.
2. *Mutations*: base attacks of several families, each written in many ways by the rules below. The base is the label:
   purity is the share of strings in a group where most strings have their base, wholeness the share of strings in the
   largest group of their base.
3. *Speed*: strings per CPU second of `fit` and `table`, with distinct strings only.

The threshold was chosen on the bases and the strings of even rank; those of odd rank are reported separately.

Bases are in `data/payloads.json`: <n> stands for a name, <i> for a number, <x> for hexadecimal digits, <h> for a host,
<l:X> for one or more X with commas; a mark is a technique of sqlmap, and the shortest public string with it is a base.
Mutation (`mutated`) draws numbers, names, hosts and hexadecimal strings; changes quotation marks, spaces and case;
extends lists; adds the context of the family before and after (values, brackets, tautologies, comments; closed tags;
separators of commands; steps up); and encodes half of the results.
"""

from __future__ import annotations

import base64
import collections
import json
import random
import re
import string
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import common
import nearkin as nk

WORDS = json.loads((common.DATA / "payloads.json").read_text("utf-8"))
SEED = 20261123
EACH = 60


def name_text(draw: random.Random) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(4, 9)))


def host_text(draw: random.Random) -> str:
    if draw.random() < 0.4:
        return ".".join(str(draw.randint(1, 254)) for _ in range(4))
    return f"{name_text(draw)}.{draw.choice(['com', 'net', 'org', 'example', 'test'])}"


def fill(text: str, draw: random.Random) -> str:
    """Replace the placeholders of a base."""
    text = re.sub(r"<l:(.*?)>", lambda match: ",".join([match[1]] * draw.randint(1, 14)), text)
    ways: dict[str, Callable[[], str]] = {
        "n": lambda: name_text(draw),
        "i": lambda: str(draw.randint(0, 10 ** draw.randint(1, 5))),
        "x": lambda: f"0x{draw.randrange(1 << 40):x}",
        "h": lambda: host_text(draw),
    }
    return re.sub(r"<([nixh])>", lambda match: ways[match[1]](), text)


def around_text(ways: Sequence[str], draw: random.Random) -> str:
    name = name_text(draw)
    return draw.choice(ways).format(n=name, m=name_text(draw), i=draw.randint(1, 9999))


def case_text(text: str, draw: random.Random) -> str:
    return "".join(letter.upper() if draw.random() < 0.4 else letter for letter in text)


def spaces_text(text: str, draw: random.Random) -> str:
    way = draw.choice(["/**/", "\t", "\n", "  ", " /**/ ", "/*{n}*/"])
    return text.replace(" ", way.format(n=name_text(draw)))


def escape_text(text: str, form: str) -> str:
    """Write signs by their code; letters, digits and spaces stay."""
    return "".join(letter if letter.isalnum() or letter == " " else form.format(ord(letter)) for letter in text)


ENCODINGS: list[Callable[[str], str]] = [
    lambda text: quote(text, safe=""),
    lambda text: quote(text, safe=" ").replace(" ", "+"),
    lambda text: quote(quote(text, safe=""), safe=""),
    lambda text: "".join(f"%u{ord(letter):04x}" if letter in "'\"<>()= " else letter for letter in text),
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: escape_text(text, "&#{};"),
    lambda text: escape_text(text, "\\u{:04x}"),
]


def mutated(family: str, base: str, draw: random.Random) -> str:
    """Write a base in one of many ways."""
    text = fill(base, draw)
    if family == "sql":
        joined = "" if text.startswith(";") else " "
        before = around_text(WORDS["ways_in"], draw) + around_text(WORDS["where"], draw)
        text = before + joined + text + around_text(WORDS["ways_out"], draw)
        if joined and draw.random() < 0.3:
            text = text.replace(" and ", " or ", 1)
        if draw.random() < 0.3:
            text = text.replace("'", '"')
        if draw.random() < 0.3:
            text = spaces_text(text, draw)
    elif family == "xss":
        text = around_text(WORDS["tags_in"], draw) + text + around_text(WORDS["tags_out"], draw)
        if draw.random() < 0.3:
            text = re.sub(r"\balert\b", draw.choice(["prompt", "confirm"]), text)
    elif family == "shell":
        text = around_text(WORDS["commands_in"], draw) + text + around_text(WORDS["commands_out"], draw)
        if draw.random() < 0.2:
            text = text.replace(" ", "${IFS}")
    elif family == "path":
        step = draw.choice(WORDS["steps"]) * draw.randint(1, 12)
        return around_text(WORDS["paths_in"], draw) + step + text + around_text(WORDS["paths_out"], draw)
    if draw.random() < 0.4:
        text = case_text(text, draw)
    return draw.choice(ENCODINGS)(text) if draw.random() < 0.5 else text


def bases(strings: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return family, label and text of each base."""
    result = [
        (family, f"{family}: {name}", text) for family, bases in WORDS["bases"].items() for name, text in bases.items()
    ]
    for mark in WORDS["marks"]:
        text = min((text for text in strings if mark in text), key=lambda text: (len(text), text))
        text = re.sub(r"\b\d+\b", "<i>", text)
        result.append(("other", f"sqlmap: {mark}", text))
    return result


def labelled(strings: Sequence[str], each: int = EACH, seed: int = SEED) -> tuple[list[str], list[str]]:
    """Return payloads and the labels of their bases."""
    draw = random.Random(seed)
    payloads, labels = [], []
    for family, label, text in bases(strings):
        for payload in sorted({mutated(family, text, draw) for _ in range(each)}):
            payloads.append(payload)
            labels.append(label)
    return payloads, labels


def group_quality(groups: Sequence[Any], labels: Sequence[str]) -> dict[str, float]:
    """Return purity, wholeness and groups per base."""
    by_group: dict[Any, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    by_label: dict[str, collections.Counter[Any]] = collections.defaultdict(collections.Counter)
    for group, label in zip(groups, labels, strict=True):
        by_group[group][label] += 1
        by_label[label][group] += 1
    return {
        "strings": len(labels),
        "bases": len(by_label),
        "groups": len(by_group),
        "purity": sum(max(counts.values()) for counts in by_group.values()) / len(labels),
        "wholeness": sum(max(counts.values()) for counts in by_label.values()) / len(labels),
        "groups_a_base": sum(map(len, by_label.values())) / len(by_label),
    }


def masked_components(payloads: Sequence[str]) -> list[Any]:
    """Group by masked digits and MinHash of three characters, in connected components from 0.5."""
    masked = [re.sub(r"\d+", "0", payload) for payload in payloads]
    result = nk.dedup(masked, recipe="char:3|binary|xxh3|minhash:128", threshold=0.5, cluster="components")
    groups: list[Any] = list(range(len(payloads)))
    for row in result.clusters.rows():
        groups[int(row["id"])] = int(row["representative"])
    return groups


def group(payloads: Sequence[str]) -> list[Any]:
    return list(nk.PayloadGroups().fit(payloads).labels(payloads).to_pylist())


def count_groups(groups: Sequence[Any]) -> dict[str, float]:
    """Count groups, groups of one string, and the share of strings in groups of two or more."""
    sizes = collections.Counter(groups)
    alone = sum(size == 1 for size in sizes.values())
    return {
        "strings": len(groups),
        "groups": len(sizes),
        "strings_a_group": len(groups) / len(sizes),
        "alone": alone,
        "grouped": 1 - alone / len(groups),
    }


def quality(strings: Sequence[str], payloads: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    """Measure public strings and mutations: all, and the even and odd halves."""
    rank = {label: position for position, label in enumerate(dict.fromkeys(labels))}
    results: dict[str, Any] = {}
    for name, half in (("all", None), ("chosen on", 0), ("shown on", 1)):
        chunk = strings if half is None else strings[half::2]
        rows = [row for row, label in enumerate(labels) if half is None or rank[label] % 2 == half]
        mine = [payloads[row] for row in rows]
        results[name] = {
            "public": count_groups(group(chunk)),
            "mutations": group_quality(group(mine), [labels[row] for row in rows]),
        }
    return results


def speed(strings: Sequence[str], rounds: int = 5) -> dict[str, float]:
    """Measure strings per CPU second of one thread."""
    many = list(dict.fromkeys(labelled(strings, each=2000)[0]))
    nk.set_num_threads(1)
    fitted = nk.PayloadGroups().fit(many)
    calls: dict[str, tuple[Sequence[str], Callable[[Sequence[str]], object]]] = {
        "fit and table, public": (strings, lambda payloads: nk.PayloadGroups().fit(payloads).table()),
        "fit and table, mutations": (many, lambda payloads: nk.PayloadGroups().fit(payloads).table()),
        "labels, mutations": (many, fitted.labels),
        "match one by one, public": (strings, lambda payloads: [fitted.match(payload) for payload in payloads]),
    }
    timed = common.rounds({name: common.timer(call, payloads) for name, (payloads, call) in calls.items()}, rounds)
    rates = {name: len(payloads) / timed[name]["cpu"] for name, (payloads, _) in calls.items()}
    return {**rates, "mutations": len(many)}


def main() -> None:
    options = common.arguments(__doc__)
    strings = [row["text"] for row in common.records(options.data, "url_httpparams_train") if row["label"] == "anom"]
    payloads, labels = labelled(strings)
    results: dict[str, Any] = {"quality": quality(strings, payloads, labels)}
    results["rival"] = {
        "public": count_groups(masked_components(strings)),
        "mutations": group_quality(masked_components(payloads), labels),
    }
    results["speed"] = speed(strings)
    path = common.save("patterns-payloads", results, versions=common.versions())
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
