"""CONTRIBUTING.md shows its rules for commit messages by examples that follow them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_example_subjects_follow_the_rules_for_subjects() -> None:
    """Recommended subjects are short, capitalised, without a full stop, and start with a verb in the imperative."""
    table = PAGE.split("| instead of | write |\n|---|---|\n")[1].split("\n\n")[0]
    subjects = [re.fullmatch(r"\| .+ \| (.+) \|", row) for row in table.splitlines()]
    assert len(subjects) >= 5
    for match in subjects:
        assert match is not None
        subject = match[1]
        first = subject.split()[0]
        assert len(subject) <= 72
        assert first[0].isupper()
        assert not first.endswith(("ed", "ing", ":"))
        assert not subject.endswith(".")
