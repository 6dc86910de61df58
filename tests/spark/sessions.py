"""Fixtures of engines: Sail always runs; Spark if there is Java 17 or newer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from engines import Engine


def start_sail() -> tuple[Any, Any]:
    """Start Sail in this process; return a session and the server."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    with warnings.catch_warnings():
        # pyspark warns that pandas 3 is too new for it, but nothing here uses pandas.
        warnings.simplefilter("ignore")
        return SparkSession.builder.remote(f"sc://{host}:{port}").create(), server


@pytest.fixture(scope="session")
def sail() -> Iterator[Any]:
    """Yield a session of Sail in this process."""
    session, server = start_sail()
    yield session
    session.stop()
    server.stop()


@pytest.fixture
def engine(sail: Any) -> Engine:
    """Return Sail with the comparison of results."""
    return Engine(sail)


@pytest.fixture(scope="session")
def java() -> str:
    """Return the program java, 17 or newer; skip the test without it."""
    actual = shutil.which("java")
    if actual is None:
        pytest.skip("java is not installed (Debian: apt-get install openjdk-17-jre-headless)")
    reported = subprocess.run([actual, "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'version "(\d+)', reported)
    if version is None or int(version.group(1)) < 17:
        pytest.skip(f"Spark 4 needs Java 17, found {reported.splitlines()[0]}")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return actual
