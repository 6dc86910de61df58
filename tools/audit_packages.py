"""Look up known vulnerabilities of the packages that nearkin and its extras need, by pip-audit.

    python tools/audit_packages.py

The versions are those of this environment. The packages of nearkin's requirements, of all extras, and of their own
requirements are passed to pip-audit with these versions; it asks the advisory service of PyPI, and installs nothing.
Every package must come back with an answer: the program fails, and names them, if packages are not installed or were
not audited, for instance because the service cannot be reached.

Exit status: 0 if all packages were audited and none is vulnerable, 1 if one is vulnerable, 2 if one was not audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = "nearkin"
OPTIONS = ("--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off")


def required_packages(project: str) -> tuple[dict[str, str], list[str]]:
    """Return the version of each package that a project and all its extras need, and names that are not installed."""
    installed: dict[str, str] = {}
    missing: list[str] = []
    own = distribution(project)
    pending = [(project, frozenset(own.metadata.get_all("Provides-Extra") or ()))]
    seen = set()
    while pending:
        name, extras = pending.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            missing.append(name)
            continue
        if name != project:
            installed[name] = package.version
        for requirement in map(Requirement, package.requires or ()):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                pending.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return installed, sorted(set(missing))


def run_pip_audit(packages: dict[str, str]) -> tuple[list[dict[str, Any]], str]:
    """Return what pip-audit reports about each package, and its messages; nothing if it could not audit any."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text("".join(f"{name}=={version}\n" for name, version in sorted(packages.items())), "utf-8")
        command = [sys.executable, "-m", "pip_audit", *OPTIONS, "-r", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)["dependencies"], done.stderr
    except (ValueError, KeyError, TypeError):
        return [], done.stderr


def report(
    packages: dict[str, str], missing: Iterable[str], answers: Sequence[dict[str, Any]], messages: str
) -> tuple[int, list[str]]:
    """Return the exit status, and what to print."""
    audited = {canonicalize_name(answer["name"]): answer["vulns"] for answer in answers if "vulns" in answer}
    lines = []
    for name, vulnerabilities in sorted(audited.items()):
        for found in vulnerabilities:
            fixed = ", ".join(found.get("fix_versions") or ["no version"])
            lines.append(f"audit: {name} {packages.get(name, '')}: {found['id']}, fixed in {fixed}")
    is_vulnerable = bool(lines)
    skipped = sorted(set(packages) - set(audited))
    if skipped:
        reasons = [answer["skip_reason"] for answer in answers if "skip_reason" in answer]
        reason = [*reasons[:1], *messages.strip().splitlines()[-1:], "pip-audit gave no reason"][0]
        lines.append(f"audit: {len(skipped)} packages were NOT audited: {', '.join(skipped)} ({reason.strip()})")
    if missing := sorted(missing):
        lines.append(f"audit: not installed here, so NOT audited: {', '.join(missing)}")
    lines.append(f"audit: {len(set(audited) & set(packages))} of {len(packages)} installed packages were audited")
    return 1 if is_vulnerable else 2 if skipped or missing else 0, lines


def main() -> int:
    """Audit the packages of this environment."""
    packages, missing = required_packages(PROJECT)
    if find_spec("pip_audit") is None:
        answers: list[dict[str, Any]] = []
        messages = "pip-audit is not installed: pip install pip-audit"
    else:
        answers, messages = run_pip_audit(packages)
    status, lines = report(packages, missing, answers, messages)
    print("\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main())
