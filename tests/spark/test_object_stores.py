"""Jobs whose inputs, stages and output are in a bucket of S3, on Sail; a server on this machine stands in for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from engines import mixed_texts
from pyarrow.fs import S3FileSystem

if find_spec("moto") is None or find_spec("s3fs") is None:
    pytest.skip("moto[server] and s3fs are in the group `dataflows`", allow_module_level=True)
pytest.importorskip("pysail", reason="Sail is in the extra `sail`")

import boto3
from moto.server import ThreadedMotoServer

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a server with the bucket `crawl`, which has texts; return the variables that lead to it."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    url, keys = f"http://{host}:{port}", dict.fromkeys(KEYS, "any")
    region = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    names = {name.lower(): value for name, value in keys.items()}
    client = boto3.client("s3", "us-east-1", endpoint_url=url, **names)
    client.create_bucket(Bucket="crawl")
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    texts = mixed_texts(400, 5)
    pq.write_table(pa.table({"id": [f"page {n}" for n in range(len(texts))], "text": texts}), path)
    client.upload_file(str(path), "crawl", "in/part-0.parquet")
    paths = {"AWS_ENDPOINT": url, "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "LOCAL_TEXTS": str(path)}
    yield {**os.environ, **keys, **region, **paths}
    server.stop()


def command(*arguments: str) -> list[str]:
    options = ("--id-column", "id", "--engine", "sail", "--quiet")
    return [sys.executable, "-m", "nearkin", "dedup", *arguments, *options]


def kept(url: str, environment: dict[str, str]) -> list[str]:
    """Return the ids of the kept documents."""
    if not url.startswith("s3://"):
        return sorted(ds.dataset(url).to_table().column("id").to_pylist())
    key, secret = (environment[name] for name in KEYS)
    endpoint = environment["AWS_ENDPOINT"]
    system = S3FileSystem(access_key=key, secret_key=secret, endpoint_override=endpoint, region="us-east-1")
    table = ds.dataset(url.removeprefix("s3://"), filesystem=system).to_table()
    return sorted(table.column("id").to_pylist())


def test_a_job_in_a_bucket(environment: dict[str, str], tmp_path: Path) -> None:
    """The result is that of files; a job that was killed goes on from its stages, and finished stages are reused."""
    subprocess.run(command(environment["LOCAL_TEXTS"], "--out", str(tmp_path / "out")), check=True)
    expected = kept(str(tmp_path / "out" / "kept"), environment)
    stages = ("--checkpoint", "s3://crawl/stages")
    killed = subprocess.Popen(command("s3://crawl/in/*.parquet", "--out", "s3://crawl/a", *stages), env=environment)
    time.sleep(4)
    killed.kill()
    killed.wait()
    for out in ("s3://crawl/b", "s3://crawl/c"):
        subprocess.run(command("s3://crawl/in/*.parquet", "--out", out, *stages), env=environment, check=True)
        assert expected == kept(f"{out}/kept", environment)
    assert 0 < len(expected) < 400


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("s3://none/in", "--out", "s3://crawl/d"), "s3://none/in: no such file or folder"),
        (("s3://crawl/in", "--out", "s3://none/d"), "s3://none/d/.nearkin: can't be written"),
        (
            ("s3://crawl/in", "--out", "s3://crawl/d", "--checkpoint", "s3://none/e"),
            "checkpoint='s3://none/e' can't be",
        ),
    ],
)
def test_buckets_that_do_not_exist(environment: dict[str, str], arguments: tuple[str, ...], reason: str) -> None:
    """They are named before the first stage."""
    done = subprocess.run(command(*arguments), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert f"nearkin: error: {reason}" in done.stderr
