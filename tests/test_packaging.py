"""Installation: notices, extras, and a build without a compiler."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from email import message_from_string
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def dependencies_of(manifest: str) -> list[str]:
    """Return the crates that are compiled in: all dependencies except those of tests."""
    names: list[str] = []
    table = ""
    for line in (ROOT / manifest).read_text("utf-8").splitlines():
        if head := re.fullmatch(r"\[(.+)\]", line.strip()):
            table = head[1]
        elif table.endswith("dependencies") and not table.endswith("dev-dependencies"):
            names += re.findall(r"^([\w-]+)\s*=", line)
    return [name for name in names if not name.startswith("nearkin")]


def test_everything_that_is_compiled_in_has_its_notice() -> None:
    notices = (ROOT / "THIRD_PARTY_LICENSES.txt").read_text("utf-8")
    names = [
        name
        for crate in ("base", "core", "patterns", "python")
        for name in dependencies_of(f"crates/nearkin-{crate}/Cargo.toml")
    ]
    assert len(names) > 15
    assert [name for name in names if not re.search(rf"^{re.escape(name)} \d", notices, re.MULTILINE)] == []
    for beside in sorted((ROOT / "crates/nearkin-base/data").glob("LICENSE-*")):
        assert beside.read_text("utf-8").strip() in notices


def test_every_extra_but_the_engines_is_in_all() -> None:
    """`pip install 'nearkin[all]'` excludes the engines, which need different versions of one client."""
    extras = set(metadata.metadata("nearkin").get_all("Provides-Extra") or [])
    if "all" not in extras:
        pytest.skip("an older build is installed")
    needed = [line for line in metadata.requires("nearkin") or [] if re.search(r"extra == ['\"]all['\"]", line)]
    named = {name for line in needed for name in re.findall(r"\[([\w,]+)\]", line)[0].split(",")}
    assert named == extras - {"all", "dask", "datatrove", "ray", "sail", "spark"}


@pytest.mark.parametrize("hook", ["get_requires_for_build_wheel()", "build_wheel('.')", "build_editable('.')"])
def test_a_build_without_rust_ends_in_one_line(tmp_path: Path, hook: str) -> None:
    pytest.importorskip("maturin")
    environment = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": str(ROOT / "tools")}
    done = subprocess.run(
        [sys.executable, "-c", f"import backend; backend.{hook}"], env=environment, cwd=tmp_path, capture_output=True
    )
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, len(lines)) == (1, 1)
    assert "needs Rust" in lines[0]
    assert "--only-binary" in lines[0]


def test_a_release_has_one_name_and_one_version() -> None:
    """In every file that states them; wheels are built for Linux (glibc and musl), macOS and Windows."""
    version = re.findall(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)[0]
    stated = {
        "CITATION.cff": f"version: {version}\n",
        "CHANGELOG.md": f"\n## {version} (",
        "packaging/conda/recipe.yaml": f'version: "{version}"',
        "pyproject.toml": 'name = "nearkin"\n',
        ".github/workflows/release.yml": "https://pypi.org/project/nearkin/",
    }
    assert [] == [name for name, text in stated.items() if text not in (ROOT / name).read_text("utf-8")]
    wheels = (ROOT / ".github" / "workflows" / "wheels.yml").read_text("utf-8")
    targets = re.findall(r"target: (\w+)-[\w-]+-(gnu|musl|darwin|msvc)", wheels)
    both = {(cpu, system) for cpu in ("x86_64", "aarch64") for system in ("gnu", "musl", "darwin")}
    assert both | {("x86_64", "msvc")} == set(targets)


def test_the_source_archive_is_complete_and_builds_without_a_network(tmp_path: Path) -> None:
    """Its metadata is valid, and cargo finds every crate in it, with an empty cache."""
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.exists() or shutil.which("cargo") is None:
        pytest.skip("needs maturin and cargo")
    subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, check=True)
    (archive,) = tmp_path.glob("nearkin-*.tar.gz")
    code = "import sys, vendor, pathlib; print(vendor.unpack(*map(pathlib.Path, sys.argv[1:])))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    done = subprocess.run(
        [sys.executable, "-c", code, archive, tmp_path], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"the registry of crates can't be reached: {done.stderr.splitlines()[-1]}")
    folder = Path(done.stdout.strip())
    fields = message_from_string((folder / "PKG-INFO").read_text("utf-8"))
    wanted = {"Name": "nearkin", "License-Expression": "Apache-2.0", "Requires-Python": ">=3.10"}
    assert wanted == {name: fields[name] for name in wanted}
    assert str(fields.get_payload()).strip() == (ROOT / "README.md").read_text("utf-8").strip()
    offline = {**os.environ, "CARGO_HOME": str(tmp_path / "empty"), "CARGO_NET_OFFLINE": "true"}
    subprocess.run(["cargo", "fetch", "--locked"], cwd=folder, env=offline, check=True)


BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in %r:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""
MODULES = """
import importlib, pkgutil
import nearkin
from nearkin.errors import MissingExtraError, install_command

walk = pkgutil.walk_packages(nearkin.__path__, "nearkin.", onerror=lambda _: None)
for module in ["nearkin", *(found.name for found in walk)]:
    if module == "nearkin.__main__":
        continue
    try:
        importlib.import_module(module)
    except MissingExtraError as error:
        assert install_command(error.extra) in str(error) and error.package in str(error), error
        print(module)
for name in nearkin.__all__:
    getattr(nearkin, name)
for client in (nearkin.Client, nearkin.service.AsyncClient):
    try:
        client("http://127.0.0.1:1")
    except MissingExtraError as error:
        print("client", error.extra)
"""
EXTRAS = {
    "datatrove", "duckdb", "fastapi", "fastwarc", "fsspec", "granian", "httpx", "jinja2", "matplotlib", "mcp",
    "msgspec", "pandas", "polars", "prometheus_client", "pysail", "pyspark", "ray", "scipy", "selectolax", "sklearn",
    "starlette", "uvloop",
}  # fmt: skip
CALLS = """
import json, os, shlex, sys
sys.path[:0] = %r
from pathlib import Path
from command import call
from test_help import EXAMPLES, write_example_files

for number, line in enumerate([*(each[0].removeprefix("$ nearkin ") for each in EXAMPLES.values()), *%r]):
    folder = Path(%r, str(number))
    folder.mkdir()
    os.chdir(folder)
    write_example_files(folder, line)
    Path("page.html").write_text("<p>A page</p>")
    Path("crawl.warc").write_text("WARC/1.0")
    done = call(*shlex.split(line))
    print(json.dumps([line, done.code, done.err]))
"""
WITH_EXTRA = {
    "report clean": "report",
    "serve pages.store": "service",
    "mcp pages.store": "mcp",
    "dedup corpus.jsonl --out r --report": "report",
    "dedup corpus.jsonl --out r --engine spark": "spark",
    "dedup corpus.jsonl --out r --engine sail": "sail",
    "dedup corpus.jsonl --out r --remote sc://host --checkpoint s3://bucket/work": "spark",
    "dedup crawl.warc --out r": "warc",
    "dedup https://host/a.jsonl --out r": "remote",
    "dedup corpus.jsonl --against s3://bucket/a.jsonl --out r": "remote",
    "text hash page.html --html": "html",
    "check new.jsonl --store http://127.0.0.1:1": "client",
    "store info http://127.0.0.1:1": "client",
    "index info corpus.nks --report x.html": "report",
    "recipe tune corpus.jsonl --report x.html": "report",
    "recipe evaluate clean --truth labels.tsv --report x.html": "report",
}
"""Commands that need an extra, with its name."""


def run_without(packages: set[str], code: str) -> str:
    """Run code in a process in which packages cannot be imported, and return what it prints."""
    blocked = BLOCKER % (sorted(packages),) + code
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize("blocked", [EXTRAS, {"msgspec"}, {"fastapi", "starlette"}], ids=["all", "msgspec", "fastapi"])
def test_every_module_imports_without_extras_or_says_which_one_it_needs(blocked: set[str]) -> None:
    printed = run_without(blocked, MODULES)
    modules = set(printed.split("\n"))
    assert {"nearkin.service.app", "nearkin.service.auth", "nearkin.service.routes"} <= modules
    assert ("nearkin.sklearn" in modules) == ("sklearn" in blocked)
    assert ("client client" in printed) == ("msgspec" in blocked)


@pytest.mark.parametrize("module", ["nearkin", "nearkin.duckdb", "nearkin.polars", "nearkin.io.frames"])
def test_no_module_imports_the_package_of_another_extra(module: str) -> None:
    own = module.rpartition(".")[2]
    packages = {"duckdb", "pandas", "polars", "pyarrow", "pyspark", "scipy", "sklearn"}
    code = f"import sys, {module}; print(*sorted({packages} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {own}


def test_every_command_runs_without_extras_or_says_which_one_it_needs(tmp_path: Path) -> None:
    """The example of each command, and calls that need an extra; a traceback would end the process."""
    folders = [str(ROOT / "tests"), str(ROOT / "tests" / "cli")]
    printed = run_without(EXTRAS, CALLS % (folders, sorted(WITH_EXTRA), str(tmp_path)))
    results = [json.loads(line) for line in printed.splitlines()]
    assert len(results) > 50
    for line, code, message in results:
        extra = WITH_EXTRA.get(line)
        if extra is None:
            assert code in (0, 3), (line, message)
        else:
            assert 1 == code, (line, message)
            assert re.search(rf" needs [\w-]+, which is not installed; run `pip install '\.\[{extra}\]'`", message), (
                line
            )


def test_hints_to_install_come_from_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message and no page says what a release changes, except by `install_command`, which names the index then."""
    from nearkin import errors

    examples = [path for path in (ROOT / "examples").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "docs").glob("*.md"), *examples, ROOT / "README.md"]
    hint = re.compile(r"pip install[^`\n]*\bnearkin(?:\[|['\"\s]|$)", re.MULTILINE)
    assert [] == [path.name for path in sources if hint.search(path.read_text(encoding="utf-8"))]
    assert "`pip install '.[plot]'` in the checkout of nearkin" == errors.install_command("plot")
    monkeypatch.setattr(errors, "PUBLISHED", True)
    assert "a chart needs x, which is not installed; run `pip install 'nearkin[plot]'`" == str(
        errors.missing_extra("plot", "x", "a chart")
    )


def test_one_list_names_what_works() -> None:
    """`dir(nk)`, `nk.__all__` and the names that type checkers see are the same, and every name can be imported."""
    import nearkin as nk

    public = vars(nk)["__all__"]
    assert dir(nk) == sorted({*public, *(name for name in vars(nk) if re.fullmatch("__.*__", name))})
    for name in public:
        getattr(nk, name)
    tree = ast.parse(Path(nk.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    typed = {alias.asname for node in imports for alias in node.names if alias.asname and alias.asname == alias.name}
    assert typed == set(public)
    # Nothing else is there, besides modules that an import has left.
    found = {name for name, value in vars(nk).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    assert found - set(public) <= {"TYPE_CHECKING", "annotations"}


def test_names_of_experts_are_in_their_packages() -> None:
    """A package lists what it has, and `nearkin` says which package has a name that it lacks."""
    import nearkin as nk

    for package in (nk.digests, nk.families, nk.index, nk.patterns, nk.quality, nk.store):
        names = vars(package)["__all__"]
        assert set(names) <= set(dir(package))
        for name in names:
            getattr(package, name)
            assert not hasattr(nk, name) or getattr(nk, name) is getattr(package, name)
    for name, folder in (("SphericalHash", "families"), ("Tuning", "quality")):
        with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; it is in nearkin.{folder}"):
            getattr(nk, name)
    for holder in (nk, nk.index):
        with pytest.raises(AttributeError, match="has no attribute 'BandIndx'"):
            getattr(holder, "BandIndx")  # noqa: B009
