"""The main job on natural text, file to file: CPU and wall seconds, memory, candidates, growth, accuracy, peers.

    python bench/dedup.py [--documents 100000 200000 ...] [--length 1000|10000|mixed] [--language en|zh] [--peers N]
    python bench/dedup.py --kill --length mixed --documents 4900000

**Corpus.** Sentences of four English corpora (Usenet messages, five versions of the Old Testament, licences, answers of
students) or three Chinese ones (news, laws, reviews), recombined at random until a document has its length: 1,000 or
10,000 bytes of UTF-8, or with `mixed` a length from a log-normal distribution (median 2,000 bytes, sigma 1.2, from 200
to 100,000). 18 of 100 documents are copies of an earlier document, which may be a copy itself: a quarter of them exact,
the others with .5 to 20% of their words (in Chinese: characters) replaced, removed or inserted. A text follows from the
seed and its number, so the corpus is written as a stream, and a smaller corpus is the beginning of a larger one. It
goes to the folder for temporary files (`TMPDIR`).

**Measured.** Each candidate runs in its own process, from JSON lines to the kept documents, and the entire process is
measured, start included; nearkin also verifies, and writes clusters and links. Peers run on the corpus of `--peers`
documents (`bench/dedup_peers.py` has their settings), each in an environment that can import it: `pip install --group
bench`, `make .venv-text-dedup/.built .venv-spark-rivals/.built`. A peer that is not installed is named and left out.
MB are those of the texts. The search is every stage of nearkin but hashing and the output. Exponents and bytes per
document compare a size with the next smaller one of the same corpus: log(time ratio) / log(ratio of documents), and the
difference of the peaks of memory by the difference of the documents.

**Accuracy**, on the same run: the true pairs of `--sample` random documents with all documents, J >= 0.8 of character
4-grams; with peers, also of word 3-grams, which they estimate. Candidates for this truth are all pairs within radius
120 of a 512-bit SimHash, whose similarity is then computed exactly; at J = 0.8 the expected distance is 78 with a
standard deviation of 8.1, so that it misses about one pair at the threshold in ten million. Recall is the share of true
pairs of which a document was removed, precision the share of removed documents of the sample that have a true pair.

**Killed** (`--kill`): the corpus is Parquet with zstd, in files of 50,000 documents. A run with two threads is compared
with one that is killed twice by SIGKILL, after a third of the time of the first, and resumed by `--checkpoint`: the
bytes of all output files but summary.json.

The tables are in docs/benchmarks.md, and that of killed runs in docs/dedup.md.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import common
import dedup_peers

THRESHOLD = dedup_peers.THRESHOLD
COPIES, EXACT = 0.18, 0.25
RATES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2)
MEDIAN, SIGMA, SHORTEST, LONGEST = 2000, 1.2, 200, 100_000
SOURCES = {
    "en": ("en_20news", "en_bible_ot", "en_licences", "en_plagiarised_answers"),
    "zh": ("zh_news_sogou", "zh_laws", "zh_reviews"),
}
LANGUAGES = {"en": "English", "zh": "Chinese"}
LENGTHS = {"1000": "1 KB", "10000": "10 KB", "mixed": "mixed lengths"}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])")
TRUTH_BITS, TRUTH_RADIUS, CHUNK = 512, 120, 20_000
# Documents per file of killed runs.
KILLED_ROWS = 50_000
# A peer that takes more CPU seconds runs once.
SLOW = 60
# Options of nearkin's candidates. The third runs with the peers: its search grows with the square of the documents.
OURS: dict[str, tuple[str, ...]] = {
    "nearkin": ("--threads", "1"),
    "nearkin, two threads": ("--threads", "2"),
    "nearkin --family simhash": ("--threads", "1", "--family", "simhash"),
}
PEERS = ("gaoya", "rensa", "datasketch", "fastsketchlsh", "text-dedup", "datatrove")


def edited(text: str, words: int, rng: random.Random, vocabulary: list[str]) -> str:
    """Replace, remove or insert this many words; for Chinese, characters."""
    chinese = text.count(" ") < len(text) / 40
    parts = list(text) if chinese else text.split(" ")
    for _ in range(words):
        at = rng.randrange(len(parts))
        kind = rng.randrange(3)
        new = rng.choice(text) if chinese else rng.choice(vocabulary)
        if kind == 0:
            parts[at] = new
        elif kind == 1 and len(parts) > 1:
            del parts[at]
        else:
            parts.insert(at, new)
    return ("" if chinese else " ").join(parts)


class Corpus:
    """Documents by number, recombined from sentences."""

    def __init__(self, data: Path, language: str, length: str, seed: int) -> None:
        self.data, self.language, self.length, self.seed = data, language, length, seed

    @cached_property
    def sentences(self) -> list[str]:
        """Distinct sentences of 20 to 600 bytes."""
        texts = (text for name in SOURCES[self.language] for text in common.texts(self.data, name))
        sentences = (part.strip() for text in texts for part in SENTENCE_END.split(text))
        return [text for text in dict.fromkeys(sentences) if 20 < len(text.encode()) < 600]

    @cached_property
    def vocabulary(self) -> list[str]:
        """Words that edits insert, as frequent as in the sentences."""
        return [word for text in self.sentences[:: len(self.sentences) // 3000 + 1] for word in text.split()]

    def text(self, number: int) -> str:
        """Return the text of a document."""
        rng = random.Random((self.seed << 40) + number)
        if number and rng.random() < COPIES:
            text = self.text(rng.randrange(number))
            if rng.random() < EXACT:
                return text
            units = len(text) if self.language == "zh" else text.count(" ") + 1
            return edited(text, max(round(rng.choice(RATES) * units), 1), rng, self.vocabulary)
        mixed = min(max(rng.lognormvariate(math.log(MEDIAN), SIGMA), SHORTEST), LONGEST)
        length = mixed if self.length == "mixed" else float(self.length)
        parts: list[str] = []
        while length > 0:
            parts.append(rng.choice(self.sentences))
            length -= len(parts[-1].encode()) + 1
        return ("" if self.language == "zh" else " ").join(parts)

    def write_parquet(self, path: Path, first: int, last: int) -> int:
        """Write a file of documents; return the bytes of their texts."""
        texts = [self.text(number) for number in range(first, last)]
        table = pa.table({"id": np.arange(first, last), "text": pa.array(texts, pa.large_string())})
        pq.write_table(table, path, compression="zstd", row_group_size=10_000)
        return int(table["text"].nbytes)

    def write(self, paths: dict[int, Path]) -> dict[int, float]:
        """Write a file of JSON lines for each number of documents; return the MB of their texts."""
        total, sizes, end = 0, {}, max(paths)
        files = {count: path.open("w", encoding="utf-8") for count, path in paths.items()}
        for number in range(end):
            text = self.text(number)
            total += len(text.encode())
            line = json.dumps({"id": number, "text": text}, ensure_ascii=False) + "\n"
            for file in files.values():
                file.write(line)
            if number + 1 in files:
                files.pop(number + 1).close()
                sizes[number + 1] = total / 1e6
        return sizes


def sampled(count: int, size: int, seed: int) -> NDArray[np.int64]:
    """Return the numbers of a random sample of the documents, in order."""
    return np.sort(np.random.default_rng(seed).choice(count, min(size, count), replace=False))


def true_pairs(corpus: Corpus, count: int, sample: NDArray[np.int64], features: str) -> NDArray[np.int64]:
    """Return the pairs of sampled documents with all others at J >= 0.8: an array of two columns, without repeats."""
    import nearkin as nk

    recipe = nk.Recipe(f"{features}|binary|xxh3|simhash:{TRUTH_BITS}").with_(seed=77)
    texts = [corpus.text(number) for number in sample.tolist()]
    index = nk.HammingIndex(TRUTH_BITS)
    index.add(sample, nk.fingerprint(texts, recipe))
    pairs = [np.empty((0, 2), np.int64)]
    for start in range(0, count, CHUNK):
        chunk = [corpus.text(number) for number in range(start, min(start + CHUNK, count))]
        fingerprints, counts = nk.fingerprint(chunk, recipe, return_counts=True)
        hits = index.search(fingerprints, TRUTH_RADIUS)
        left = np.repeat(np.arange(len(chunk)), np.diff(hits.offsets))
        right = np.asarray(hits.ids, np.int64)
        other = (left + start != right) & (counts[left] > 0)
        left, right = left[other], right[other]
        places = np.searchsorted(sample, right) + len(chunk)
        match = nk.similarity([*chunk, *texts], left, places, recipe=recipe) >= THRESHOLD
        pairs.append(np.sort(np.column_stack([left + start, right])[match], axis=1))
    return np.unique(np.concatenate(pairs), axis=0)


def accuracy(kept: NDArray[np.bool_], sample: NDArray[np.int64], pairs: NDArray[np.int64]) -> dict[str, float]:
    """Return recall of the pairs, and precision of the sampled documents that were removed."""
    removed = sample[~kept[sample]]
    wrong = int((~np.isin(removed, pairs)).sum())
    recall = 1 - float(kept[pairs].all(axis=1).mean()) if len(pairs) else 1.0
    return {"pairs": len(pairs), "recall": recall, "wrong": wrong, "precision": 1 - wrong / max(len(removed), 1)}


def kept_ids(out: Path) -> NDArray[np.int64]:
    """Read the ids of kept documents: Parquet, streams of Arrow, or JSON lines."""
    columns = [pq.read_table(path, columns=["id"])["id"] for path in sorted(out.rglob("*.parquet"))]
    columns += [pa.ipc.open_stream(pa.memory_map(str(path))).read_all()["id"] for path in sorted(out.rglob("*.arrow"))]
    parts = [column.cast(pa.int64()).to_numpy() for column in columns]
    for path in sorted(out.rglob("*.jsonl")):
        with path.open("rb") as lines:
            parts.append(np.fromiter((int(json.loads(line)["id"]) for line in lines), np.int64))
    return np.concatenate(parts)


def offline(work: Path) -> dict[str, str]:
    """Return environment variables that keep packages from the network and in a folder."""
    return {"HF_HOME": str(work / "home"), "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}


def run_candidate(name: str, corpus: Path, folder: Path) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Run a candidate; return what it used, and the ids of the documents that it kept."""
    if name in PEERS:
        if not common.PEERS[name].installed:
            raise RuntimeError("not installed")
        command = [common.PEERS[name].python, dedup_peers.__file__, name, corpus, folder]
        used: dict[str, Any] = common.measure_command(command, folder, offline(folder))
        loop = folder / "loop.json"
        return {**used, **(json.loads(loop.read_text()) if loop.exists() else {})}, kept_ids(folder / "out")
    command = [*common.program(), "dedup", corpus, "--out", folder / "out", "--id-column", "id", "--quiet", *OURS[name]]
    used = common.measure_command(command, folder)
    summary = json.loads((folder / "out" / "summary.json").read_text())
    for path in [*(folder / "out").glob("clusters.*"), *(folder / "out").glob("pairs.*")]:
        path.unlink()
    search = sum(stage["cpu"] for key, stage in summary["timings"].items() if key not in {"hash", "result"})
    return {**used, "search_cpu": search, "summary": summary}, kept_ids(folder / "out")


def measure_size(corpus: Corpus, path: Path, count: int, candidates: list[str], options: Any) -> dict[str, Any]:
    """Measure candidates on a file, in interleaved rounds; accuracy follows from the first."""
    sample = sampled(count, options.sample, options.seed)
    features = ("char:4", "word:3") if set(candidates) & set(PEERS) else ("char:4",)
    truth = {name: true_pairs(corpus, count, sample, name) for name in features}
    results: dict[str, Any] = {}
    for number, name in itertools.product(range(options.rounds), candidates):
        result = results.setdefault(name, {"runs": []})
        slow = name in PEERS and any(run["cpu"] > SLOW for run in result["runs"])
        if slow or "missing" in result:
            continue
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            try:
                used, ids = run_candidate(name, path, Path(folder))
            except RuntimeError as error:
                if name not in PEERS:
                    raise
                result["missing"] = str(error).strip().splitlines()[-1]
                continue
        result["runs"].append(used)
        if not number:
            kept = np.zeros(count, bool)
            kept[ids] = True
            result["kept"] = int(kept.sum())
            result["accuracy"] = {key: accuracy(kept, sample, pairs) for key, pairs in truth.items()}
        print(count, name, {**used, "summary": ""}, result["accuracy"], file=sys.stderr, flush=True)
    for result in results.values():
        for figure in result["runs"][0].keys() - {"summary"} if result["runs"] else ():
            result[figure] = statistics.median(run[figure] for run in result["runs"])
    return results


def measure(options: Any) -> dict[str, Any]:
    corpus = Corpus(options.data, options.language, options.length, options.seed)
    about = {"corpus": f"{LANGUAGES[options.language]}, {LENGTHS[options.length]}", "seed": options.seed}
    results = {}
    with tempfile.TemporaryDirectory(prefix="nearkin-bench-") as work:
        paths = {count: Path(work, f"{count}.jsonl") for count in options.documents}
        for count, megabytes in corpus.write(paths).items():
            every = [*OURS, *PEERS] if count == options.peers else [*OURS][:2]
            rows = measure_size(corpus, paths[count], count, options.only or every, options)
            size = {**about, "documents": count, "megabytes": megabytes, "sample": options.sample}
            results[f"{about['corpus']}, {count:,}"] = {**size, "results": rows}
            paths[count].unlink()
    return {"corpora": common.merge_last("dedup-natural", "corpora", results)}


def output_hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each output file but the summary, which has times."""
    hashes = {}
    for path in sorted(set(folder.iterdir()) - {folder / "summary.json"}):
        with path.open("rb") as file:
            hashes[path.name] = hashlib.file_digest(file, "blake2b").hexdigest()
    return hashes


def measure_killed(options: Any) -> dict[str, Any]:
    """Compare runs without an interruption and with two kills."""
    corpus = Corpus(options.data, options.language, options.length, options.seed)
    count = options.documents[0]
    with tempfile.TemporaryDirectory(prefix="nearkin-bench-") as work, ProcessPoolExecutor(2) as pool:
        (inputs := Path(work, "corpus")).mkdir()
        starts = range(0, count, KILLED_ROWS)
        ends = [min(start + KILLED_ROWS, count) for start in starts]
        paths = [inputs / f"{start:09}.parquet" for start in starts]
        size = sum(pool.map(corpus.write_parquet, paths, starts, ends))
        on_disk = common.folder_size(inputs)
        command = [*common.program(), "dedup", inputs, "--id-column", "id", "--quiet", "--threads", "2", "--out"]
        results = {"whole": common.measure_command([*command, Path(work, "whole")], Path(work))}
        resumed = [*command, Path(work, "resumed"), "--checkpoint", Path(work, "stages")]
        for _ in range(2):
            process = subprocess.Popen(list(map(str, resumed)))
            try:
                process.wait(results["whole"]["wall"] / 3)
                raise RuntimeError("the run ended before it was killed")
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        results["resumed"] = common.measure_command(resumed, Path(work))
        hashes = [output_hashes(Path(work, name)) for name in ("whole", "resumed")]
        for name, result in results.items():
            summary = json.loads(Path(work, name, "summary.json").read_text())
            result.update({key: summary.get(key) for key in ("kept", "timings", "resumed")})
    about = {"corpus": f"{LANGUAGES[options.language]}, {LENGTHS[options.length]}", "seed": options.seed}
    sizes = {"documents": count, "megabytes": size / 1e6, "files_mb": on_disk / 1e6, "equal": hashes[0] == hashes[1]}
    return {**about, **sizes, "results": results, "hashes": hashes[0]}


def report_killed(run: dict[str, Any]) -> None:
    """Write the table of docs/dedup.md."""
    names = {"without an interruption": "whole", "the rest after two kills": "resumed"}
    columns: dict[str, Callable[[Any], str]] = {
        "CPU s": lambda result: f"{result['cpu']:,.0f}",
        "wall s": lambda result: f"{result['wall']:,.0f}",
        "peak MB": lambda result: f"{result['peak_mb']:,.0f}",
    }
    rows = {name: run["results"][key] for name, key in names.items()}
    whole, same = run["results"]["whole"], "the same bytes" if run["equal"] else "**different bytes**"
    hours = whole["cpu"] / 3.6e-3 / run["megabytes"]
    text = f"{run['corpus']}, {run['documents']:,} documents, {run['megabytes'] / 1e3:.1f} GB of text in "
    text += f"{run['files_mb'] / 1e3:.1f} GB of Parquet; {whole['kept']:,} kept; "
    text += f"{same} of both outputs; {hours:.1f} core-hours per TB of text:"
    common.splice("dedup.md", "killed", f"{text}\n\n{common.table_of('', columns, rows)}\n\n{common.source(run)}")


def report(run: dict[str, Any]) -> None:
    """Write the tables of docs/benchmarks.md."""
    rows = sorted(run["corpora"].values(), key=lambda row: (row["corpus"], row["documents"]))
    rows = [row for row in rows if "nearkin" in row["results"]]
    lines = []
    for before, row in itertools.pairwise([None, *rows]):
        one, two = row["results"]["nearkin"], row["results"].get("nearkin, two threads")
        growth = ["", "", ""]
        if before and before["corpus"] == row["corpus"]:
            last, more = before["results"]["nearkin"], row["documents"] / before["documents"]
            growth = [f"{math.log(one[key] / last[key]) / math.log(more):.2f}" for key in ("cpu", "search_cpu")]
            growth.append(f"{1e6 * (one['peak_mb'] - last['peak_mb']) / (row['documents'] - before['documents']):.0f}")
        summary = one["runs"][0]["summary"]
        lines.append(
            [
                row["corpus"],
                f"{row['documents']:,}",
                f"{one['cpu']:.1f} / {one['wall']:.1f}",
                f"{two['cpu']:.1f} / {two['wall']:.1f}" if two else "",
                f"{row['megabytes'] / one['cpu']:.0f}",
                *growth[:2],
                f"{one['peak_mb']:,.0f}",
                growth[2],
                f"{summary['candidates'] / row['documents']:.2f}",
                f"{summary['num_bands']}x{summary['num_rows']}",
                share(one, "char:4"),
            ]
        )
    header = [
        "corpus",
        "documents",
        "CPU / wall s",
        "two threads",
        "MB per CPU s",
        "exponent",
        "of the search",
        "peak MB",
    ]
    header += ["bytes per document", "candidates per document", "bands", "recall / precision"]
    common.splice("benchmarks.md", "dedup-sizes", f"{common.table(header, lines)}\n\n{source(run, rows)}")
    tables = [peer_table(row) for row in rows if set(row["results"]) & set(PEERS)]
    if tables:
        common.splice("benchmarks.md", "dedup", "\n\n".join([*tables, source(run, rows)]))


def share(row: dict[str, Any], features: str) -> str:
    """Format recall and precision."""
    return " / ".join(f"{row['accuracy'][features][name]:.2%}" for name in ("recall", "precision"))


def source(run: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return the line below a table, with the runs that other rows come from."""
    earlier = sorted(set(run.get("carried", {}).values()))
    names = f" Other rows: {', '.join(f'`bench/runs/{file}`' for file in earlier)}." if earlier else ""
    rounds = sorted({len(row["results"]["nearkin"]["runs"]) for row in rows})
    return f"Runs of each: {' or '.join(map(str, rounds))}, medians. {common.source(run)}{names}"


def peer_table(row: dict[str, Any]) -> str:
    """Build the table of nearkin and its peers on one corpus."""
    ours = row["results"]["nearkin"]["cpu"]

    def loop(result: dict[str, Any]) -> str:
        return f"{result['loop_cpu']:.1f} ({result['loop_cpu'] / ours:.1f})" if "loop_cpu" in result else ""

    columns: dict[str, Callable[[Any], str]] = {
        "CPU s": lambda result: f"{result['cpu']:.1f}",
        "× nearkin": lambda result: f"{result['cpu'] / ours:.1f}",
        "loop alone (× nearkin)": loop,
        "wall s": lambda result: f"{result['wall']:.1f}",
        "MB": lambda result: f"{result['peak_mb']:,.0f}",
        "kept": lambda result: f"{result['kept']:,}",
        "recall / precision, char:4": lambda result: share(result, "char:4"),
        "recall / precision, word:3": lambda result: share(result, "word:3"),
    }
    measured = {name: result for name, result in row["results"].items() if "cpu" in result}
    missing = [f"{name} ({result['missing']})" for name, result in row["results"].items() if "missing" in result]
    text = f"{row['corpus']}, {row['documents']:,} documents, {row['megabytes']:,.0f} MB"
    text += f"; not measured: {', '.join(missing)}" if missing else ""
    return f"{text}:\n\n{common.table_of('', columns, measured)}"


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--documents", {"type": int, "nargs": "+", "default": [100_000, 200_000, 400_000, 1_000_000]}),
        ("--length", {"choices": LENGTHS, "default": "1000"}),
        ("--language", {"choices": LANGUAGES, "default": "en"}),
        ("--peers", {"type": int, "default": 200_000, "metavar": "N", "help": "size at which the peers run; 0: none"}),
        ("--sample", {"type": int, "default": 10_000, "help": "documents whose true pairs are known"}),
        ("--seed", {"type": int, "default": 1}),
        ("--rounds", {"type": int, "default": 3, "help": "runs of each"}),
        ("--kill", {"action": "store_true", "help": "compare a killed run with one that is not"}),
        ("--only", {"nargs": "+", "choices": [*OURS, *PEERS], "metavar": "NAME", "help": "candidates to run"}),
    )
    if options.kill:
        common.run("dedup-killed", options, lambda: measure_killed(options), report_killed, "numpy", "pyarrow")
    else:
        common.run("dedup-natural", options, lambda: measure(options), report, *PEERS, "numpy")


if __name__ == "__main__":
    main()
