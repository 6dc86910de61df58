"""Check that the prose of the project reads as engineers write: count marked constructions, compare with ceilings.

    python tools/prose.py [PATH ...] [--show CONSTRUCTION] [--limit N]

Reads the comments and docstrings of Python and Rust and the text of Markdown pages (without code, tables and the
changelog), of the files that git tracks, below PATH if given. Counts each construction per 1,000 sentences. Exits 1 if
any is above its ceiling. `--show` lists the places of one construction.

A ceiling is between the rate in well-known open-source projects and the highest rate of any single one of them, so it
is not a rule about a sentence. Above a ceiling, rewrite sentences: name the thing with its noun, say what it does, when
to use it and why, in active voice and one idea per sentence.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = re.compile(r"(?:^|/)(?:CHANGELOG|changelog|samples|golden|fixtures)")


@dataclass(frozen=True)
class Construction:
    """A pattern that marks foreign prose, and its highest rate per 1,000 sentences."""

    pattern: str
    ceiling: float


CONSTRUCTIONS = {
    "headless": Construction(
        r"(?:^|[.!?:]\s+|\n\s*)(?:What|Who|Whoever|Whatever|Whether|How (?:many|much|often|far))\b"
        r"[^?\n]{0,160}(?:\.|$)",
        8.0,
    ),
    "is there": Construction(r"\b(?:that|which|is|are|were|was) (?:not |already )?there\b", 3.0),
    "of which": Construction(r"\b(?:of which|of whom|of whose|of these|of those)\b", 5.0),
    ", too": Construction(r", too[.;,)]", 1.0),
    "beside": Construction(r"\bbeside\b", 0.5),
    "apart": Construction(r"\bapart\b", 1.2),
    "alike": Construction(r"\balike\b", 0.3),
    "so many": Construction(r"\b(?:so many|as many as)\b", 0.3),
    "goes, stays": Construction(r"\b(?:goes|stays|stay)\b", 8.0),
    "tells, told": Construction(r"\b(?:told|tells|tell)\b", 2.0),
    "lies": Construction(r"\b(?:lies|lie|lay)\b", 1.0),
    "anew": Construction(r"\banew\b", 0.2),
    "meanwhile": Construction(r"\bmeanwhile\b", 0.3),
    "else": Construction(r"[;,] else\b", 0.6),
    "for ever": Construction(r"\bfor ever\b", 0.1),
    "knows no": Construction(r"\b(?:knows no|needs no|takes no|waits for no|knows nothing|holds no)\b", 0.6),
    "held": Construction(r"\bheld\b", 3.0),
    "made": Construction(r"\bmade\b", 6.0),
    "asked": Construction(r"\basked\b", 2.0),
    "whole": Construction(r"\bwhole\b", 5.0),
}


def python_prose(text: str) -> Iterator[str]:
    """Yield the lines of docstrings, examples left out, and of comments on lines of their own."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            yield from (line for line in docstring.splitlines() if not line.lstrip().startswith((">>>", "...", "|")))
            yield ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            yield token.string.lstrip("# ")


def rust_prose(text: str) -> Iterator[str]:
    """Yield the lines of comments, fenced examples left out."""
    fenced = False
    for line in text.splitlines():
        comment = re.match(r"\s*//[/!]?\s?(.*)", line)
        if comment is None:
            fenced = False
            yield ""
        elif comment[1].startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield comment[1]


def markdown_prose(text: str) -> Iterator[str]:
    """Yield the lines of a page, code blocks and tables left out."""
    yield from re.sub(r"```.*?```|^ {4}.*$|^\|.*$", " ", text, flags=re.DOTALL | re.MULTILINE).splitlines()


READERS = {".py": python_prose, ".rs": rust_prose, ".md": markdown_prose}


def prose_of(path: Path) -> str:
    """Return the prose of a file, with code spans replaced by a letter."""
    lines = READERS[path.suffix](path.read_text(encoding="utf-8"))
    return re.sub(r"`+[^`]*`+", " X ", "\n".join(lines))


def tracked_files(paths: list[str]) -> list[Path]:
    """Return the files that git tracks below `paths` and that have prose to check."""
    command = ["git", "-C", str(ROOT), "ls-files", *paths]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    files = (ROOT / name for name in names if not SKIPPED.search(name))
    return [path for path in files if path.suffix in READERS and path.is_file()]


def count(text: str) -> dict[str, list[str]]:
    """Return the occurrences of each construction in `text`, each with the words around it."""
    return {
        name: [
            " ".join(text[max(0, match.start() - 60) : match.end() + 60].split())
            for match in re.finditer(construction.pattern, text)
        ]
        for name, construction in CONSTRUCTIONS.items()
    }


def main() -> int:
    """Print one line per construction, or the places of one; return 1 if a ceiling is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files or folders (default: the repository)")
    parser.add_argument("--show", choices=sorted(CONSTRUCTIONS), help="list the places of one construction")
    parser.add_argument("--limit", type=int, default=40, help="number of places to list (default: 40)")
    args = parser.parse_args()
    sentences, totals = 0, dict.fromkeys(CONSTRUCTIONS, 0)
    places: list[str] = []
    for path in tracked_files(args.paths):
        text = prose_of(path)
        sentences += len(re.findall(r"[.!?](?:\s|$)", text))
        for name, contexts in count(text).items():
            totals[name] += len(contexts)
            if name == args.show:
                places += [f"{path.relative_to(ROOT)}: {context}" for context in contexts]
    if args.show:
        print("\n".join(places[: args.limit]))
        return 0
    above = 0
    print(f"{sentences:,} sentences; occurrences per 1,000 and ceiling")
    for name, construction in CONSTRUCTIONS.items():
        rate = 1000 * totals[name] / max(sentences, 1)
        above += rate > construction.ceiling
        print(f"{rate:7.1f} {construction.ceiling:6.1f}  {name}{'   above' if rate > construction.ceiling else ''}")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
