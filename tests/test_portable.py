"""Importing the package where POSIX modules are missing, as on Windows."""

from __future__ import annotations

import subprocess
import sys

IMPORT_ALL = """
import importlib, pkgutil, sys

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
import nearkin

failed = []
for module in pkgutil.walk_packages(nearkin.__path__, "nearkin."):
    if module.name == "nearkin.__main__":
        continue
    try:
        importlib.import_module(module.name)
    except nearkin.errors.MissingExtraError:
        continue  # Packages of others import what they need.
    except ImportError as error:
        failed.append(f"{module.name}: {error}")
print("\\n".join(failed), end="")
"""


def test_every_module_is_imported_without_modules_of_posix() -> None:
    """No module of the package imports fcntl, resource or similar modules when it is imported."""
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert ("", "", 0) == (done.stdout, done.stderr, done.returncode)
