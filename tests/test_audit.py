"""`tools/audit_packages.py` never passes while a package was not audited."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import audit_packages  # type: ignore[import-not-found]  # A program, not a package.

PACKAGES = {"numpy": "2.0.0", "rich": "13.0.0"}
CLEAN: list[dict[str, Any]] = [{"name": name, "vulns": []} for name in PACKAGES]
SKIPPED = [CLEAN[0], {"name": "rich", "skip_reason": "Dependency not found on PyPI"}]
VULNERABLE = [CLEAN[0], {"name": "Rich", "vulns": [{"id": "PYSEC-1", "fix_versions": ["13.1"]}]}]


@pytest.mark.parametrize(
    ("answers", "missing", "status", "line"),
    [
        (CLEAN, [], 0, "2 of 2 installed packages were audited"),
        (CLEAN, ["pysail"], 2, "not installed here, so NOT audited: pysail"),
        (SKIPPED, [], 2, "1 packages were NOT audited: rich (Dependency not found on PyPI)"),
        (CLEAN[:1], [], 2, "1 packages were NOT audited: rich (no route)"),
        ([], [], 2, "2 packages were NOT audited: numpy, rich (no route)"),
        (VULNERABLE, [], 1, "rich 13.0.0: PYSEC-1, fixed in 13.1"),
    ],
    ids=["clean", "missing", "skipped", "unanswered", "unreachable", "vulnerable"],
)
def test_nothing_passes_silently(answers: list[dict[str, Any]], missing: list[str], status: int, line: str) -> None:
    """The status is 0 only if every package has an answer without vulnerabilities."""
    found, lines = audit_packages.report(PACKAGES, missing, answers, "warning\nno route\n")
    assert status == found
    assert any(line in printed for printed in lines)


def test_the_packages_of_all_extras_are_audited() -> None:
    """Requirements are followed, those of extras too."""
    packages, missing = audit_packages.required_packages("nearkin")
    assert {"numpy", "pyarrow", "typer", "click"} <= set(packages)
    assert {"granian", "pyspark", "starlette"} <= {*packages, *missing}
    assert "nearkin" not in packages
    assert "pytest" not in packages


def test_a_program_that_fails_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever pip-audit prints, an answer that is no JSON counts as none."""
    monkeypatch.setattr(audit_packages.sys, "executable", "/bin/echo")
    answers, _ = audit_packages.run_pip_audit(PACKAGES)
    assert [] == answers
