"""Apache with ModSecurity accepts the exported rules."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nearkin.patterns.urls import UrlPatterns

MODULES = Path("/usr/lib/apache2/modules")
URLS = [
    *(f"https://a.example/x/{n}?p={n}" for n in range(30)),
    *(f"https://b.example/x/{n}?q={n}" for n in range(30)),
    *(f"https://b.example/y?arr[]={n}&a.b={n}" for n in range(30)),
    *(f"https://b.example/%C3%A9/{{x}}/a(b)/{n}.html" for n in range(30)),
    *["https://a.example/"] * 5,
]

needs_modsecurity = pytest.mark.skipif(
    shutil.which("apache2") is None or not (MODULES / "mod_security2.so").exists(),
    reason="Apache with ModSecurity is not installed",
)


def check(program: str, *arguments: str | os.PathLike[str]) -> None:
    """Run a program and check that it accepts a configuration."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=300)
    assert 0 == done.returncode, done.stderr


@needs_modsecurity
def test_modsecurity_reads_its_rules(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text(UrlPatterns().fit(URLS).to_modsecurity())
    modules = {"mpm_event": "mpm_event", "authz_core": "authz_core", "unique_id": "unique_id", "security2": "security2"}
    lines = [f"LoadModule {name}_module {MODULES}/mod_{file}.so" for name, file in modules.items()]
    places = [f"ServerRoot {tmp_path}", f"ErrorLog {tmp_path / 'log'}", f"PidFile {tmp_path / 'pid'}"]
    lines = [*places, "Listen 127.0.0.1:1", "ServerName localhost", *lines]
    (tmp_path / "apache.conf").write_text(
        "\n".join([*lines, "SecRuleEngine On", f"Include {tmp_path / 'rules'}"]) + "\n"
    )
    check("apache2", "-t", "-f", tmp_path / "apache.conf")


def test_rules_test_the_host_if_there_are_several() -> None:
    """Names of parameters with brackets are expressions."""
    rules = UrlPatterns().fit(URLS).to_modsecurity()
    assert rules.count(r'REQUEST_HEADERS:Host "@rx (?i)^a\.example(?::[0-9]+)?$"') == 2
    assert r"ARGS:/^arr\[\]$/" in rules
    assert "ARGS:a.b " in rules
    alone = UrlPatterns().fit(URLS[:30]).to_modsecurity()
    assert "REQUEST_HEADERS" not in alone
