"""The layers of ARCHITECTURE.md: imports point up the list only, and never in a circle.

The order is read from ARCHITECTURE.md and from the headers of the crates' `lib.rs`, so that what is drawn there is what
holds.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "nearkin"
BASE, CORE = ROOT / "crates" / "nearkin-base", ROOT / "crates" / "nearkin-core"
CRATES = [BASE, CORE, ROOT / "crates" / "nearkin-patterns", ROOT / "crates" / "nearkin-python"]


def python_layers() -> list[list[str]]:
    """The lines under `python/nearkin/` in ARCHITECTURE.md, top first, names of modules and folders in each."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = re.search(r"^python/nearkin/ .*?(?=^```)", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    lines = block.group().removeprefix("python/nearkin/").splitlines()
    layers = [re.findall(r"[a-z_]+(?=/?(?:\s|·|$))", re.sub(r"\(.*?\)|  +[A-Z].*$", "", line)) for line in lines]
    return [layer for layer in layers if layer]


@cache
def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def modules() -> Iterator[tuple[str, Path]]:
    """Every Python module of the package with its dotted name below `nearkin`; a stub stands for the kernels."""
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")]):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imported(path: Path, known: set[str]) -> Iterator[str]:
    """Dotted names below `nearkin` of what a file imports, wherever in it the import stands."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            names: list[tuple[str, tuple[str, ...]]] = [(alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert 0 == node.level, f"{path.name}:{node.lineno}: imports are absolute"
            names = [(node.module or "", tuple(alias.name for alias in node.names))]
        else:
            continue
        for name, members in names:
            if name.split(".")[0] != "nearkin":
                continue
            below = name.removeprefix("nearkin").lstrip(".")
            for member in members or ("",):
                longer = f"{below}.{member}".strip(".")
                yield longer if longer in known or longer == "_core" else below


def test_every_module_has_its_place() -> None:
    """Each module and folder of the package is in the list of ARCHITECTURE.md exactly once."""
    placed = [name for layer in python_layers() for name in layer]
    assert len(placed) == len(set(placed))
    tops = {name.split(".")[0] for name, _ in modules()} - {""}
    assert set() == tops - set(placed)


def test_python_imports_point_up_the_list() -> None:
    """A module imports from lines above its own, from its own line, and from its own folder."""
    place = {name: number for number, layer in enumerate(python_layers()) for name in layer}
    known = {name for name, _ in modules()}
    faults = []
    for name, path in modules():
        top = name.split(".")[0]
        for target in imported(path, known):
            other = target.split(".")[0]
            if top and other != top and (other not in place or place[other] > place[top]):
                faults.append(f"{name} imports {target or 'nearkin'}")
    assert [] == faults


def test_python_imports_have_no_circle() -> None:
    """Modules can be put in an order in which each imports earlier ones only, imports within functions included."""
    known = {name for name, _ in modules()}
    edges = {name: set(imported(path, known)) & known - {name, ""} for name, path in modules() if name}
    while free := {name for name, targets in edges.items() if not targets & edges.keys()}:
        edges = {name: targets for name, targets in edges.items() if name not in free}
    assert {} == edges


def test_no_package_reexports_the_name_of_its_module() -> None:
    """`from nearkin.x import y` gives the module y: no package below the root exports another object of that name."""
    known = {name for name, _ in modules()}
    faults = []
    for name, path in modules():
        if path.name != "__init__.py" or not name:
            continue
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ImportFrom) and node.module != f"nearkin.{name}":
                names = [alias.asname or alias.name for alias in node.names]
                faults += [f"{name}.{one}" for one in names if f"{name}.{one}" in known]
    assert [] == faults


def test_digests_are_modules_below_the_root() -> None:
    """`import nearkin.tlsh` gives the module `nk.tlsh`, whichever is first."""
    for first in ("import nearkin.tlsh, nearkin.ssdeep", "from nearkin.digests import ssdeep, tlsh", "import nearkin"):
        code = f"{first}; import nearkin.tlsh, nearkin.ssdeep; import nearkin as nk; from nearkin.digests import tlsh; "
        code += "print(nearkin.tlsh is nk.tlsh is tlsh, nk.ssdeep.hash(b'') == nearkin.ssdeep.hash(b''))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert "True True\n" == run.stdout


def test_root_functions_named_like_a_package_stay_functions() -> None:
    """`nk.dedup` and `nk.explain` are functions, whatever is imported before or later.

    `import nearkin.dedup.x` would start from the function, so nothing imports in that form.
    """
    code = (
        "import importlib, sys; [importlib.import_module(f'nearkin.{name}') for name in sys.argv[1].split()]; "
        "import nearkin as nk; print(callable(nk.dedup), callable(nk.explain), callable(nk.dedup), nk.dedup.__name__)"
    )
    for names in ("", "dedup explain", "dedup.texts", "explain.texts dedup.config"):
        run = subprocess.run([sys.executable, "-c", code, names], capture_output=True, text=True, check=True)
        assert "True True True dedup" == run.stdout.strip(), names
    faults = [
        f"{path.name}:{node.lineno}"
        for _, path in modules()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.startswith(("nearkin.dedup", "nearkin.explain"))
    ]
    assert [] == faults


def test_the_package_asserts_nothing() -> None:
    """What can go wrong for a user is an error with a message, not an AssertionError that -O removes."""
    faults = [
        f"{path.name}:{node.lineno}"
        for _, path in modules()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Assert)
    ]
    assert [] == faults


# Modules with their own validation of Arrow data: every column of a request's body is validated fully.
VALIDATING = {"service.bodies"}


# Modules that read the buffers of columns that `io.arrow` has checked.
BUFFER_READERS = {"io.frames", "patterns.inputs", "distributed.documents"}


def test_arrow_data_enters_at_one_gate() -> None:
    """Only `io.arrow` converts Arrow data to Python values, imports from its C interface and reads its buffers.

    Objects of the package offer the interface: they define methods of these names, and `io.tables` passes one on.
    """
    conversions = {"to_pylist", "from_stream", "_import_from_c", "_import_from_c_capsule"}
    faults = []
    for name, path in modules():
        if name == "io.arrow" or name in VALIDATING:
            continue
        for node in ast.walk(parse(path)):
            used = getattr(node, "attr", getattr(node, "value", ""))
            is_own = isinstance(node, ast.Attribute) and name == "io.tables"
            pointer = isinstance(used, str) and re.fullmatch("__arrow_c_[a-z]+__", used) and not is_own
            buffers = used == "buffers" and isinstance(node, ast.Attribute)
            if pointer or (isinstance(used, str) and used in conversions) or (buffers and name not in BUFFER_READERS):
                faults.append(f"{path.name}:{getattr(node, 'lineno', 0)}: {used}")
    assert [] == faults


def test_arrays_of_callers_pass_the_gate() -> None:
    """Modules that take vectors, ids and fingerprints convert them by `values_of`, never directly."""
    faults = []
    for name in ("index.ids", "index.fingerprints", "families.minhash", "vectors.arrays"):
        path = PACKAGE / (name.replace(".", "/") + ".py")
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "asarray":
                first = ast.unparse(node.args[0])
                if first in ("X", "hashes", "offsets", "codes"):
                    faults.append(f"{path.name}:{node.lineno}: {first}")
    assert [] == faults


def rust_order(crate: Path) -> list[str]:
    """The modules of a crate in the order of the last paragraph of its lib.rs's header."""
    header = [line for line in (crate / "src" / "lib.rs").read_text(encoding="utf-8").splitlines() if line[:3] == "//!"]
    return re.findall(r"`([a-z_0-9]+)`", " ".join(header).rsplit("to its left:", 1)[1])


def rust_code(path: Path) -> str:
    """A Rust file without comments and without its tests, which may reach further."""
    text = path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests")[0]
    return re.sub(r"//.*", "", text)


def rust_module(crate: Path, path: Path) -> str:
    return path.relative_to(crate / "src").parts[0].removesuffix(".rs")


def rust_uses(code: str) -> set[str]:
    """Modules that stand behind `crate::`, in braces too."""
    names = set(re.findall(r"\bcrate::([a-z_0-9]+)", code))
    for group in re.findall(r"\bcrate::\{(.*?)\};", code, re.DOTALL):
        names |= set(re.findall(r"(?:^|,)\s*([a-z_0-9]+)", re.sub(r"\{[^{}]*\}", "", group)))
    return names - {"self"}


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_every_module_of_a_crate_has_its_place(crate: Path) -> None:
    """The modules that lib.rs declares are those that its header puts in order."""
    code = rust_code(crate / "src" / "lib.rs")
    declared = re.findall(r"^(?:pub )?mod ([a-z_0-9]+);", code, re.MULTILINE)
    # The core offers modules of the base as its own.
    declared += [
        name
        for group in re.findall(r"pub use nearkin_base::\{([^}]*)\};", code)
        for name in re.findall(r"\b[a-z]\w+", group)
    ]
    assert sorted(declared) == sorted(rust_order(crate))


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_rust_modules_use_only_modules_to_their_left(crate: Path) -> None:
    """`crate::` in a module names modules that stand before it in lib.rs."""
    order = rust_order(crate)
    faults = []
    for path in sorted((crate / "src").rglob("*.rs")):
        module = rust_module(crate, path)
        if module == "lib":
            continue
        faults += [
            f"{module} uses {other}"
            for other in rust_uses(rust_code(path))
            if other != module and (other not in order or order.index(other) > order.index(module))
        ]
    assert [] == faults


def use_paths(code: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of each item that a `use` declaration names, and each inline path from `crate` or `super`."""

    def expand(tree: str, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        depth, start, parts = 0, 0, []
        for position, letter in enumerate(tree):
            depth += (letter == "{") - (letter == "}")
            if letter == "," and depth == 0:
                parts.append(tree[start:position])
                start = position + 1
        for part in [*parts, tree[start:]]:
            path, brace, inner = part.strip().partition("{")
            names = tuple(re.sub(r"\s+as\s+\w+", "", path).strip().strip(":").split("::")) if path.strip() else ()
            if brace:
                yield from expand(inner.rpartition("}")[0], (*prefix, *names))
            elif names:
                yield (*prefix, *names)

    for declaration in re.findall(r"\buse ([^;]+);", code):
        yield from expand(declaration, ())
    for path in re.findall(r"\b((?:crate|super)(?:::\w+)+)", re.sub(r"\buse [^;]+;", "", code)):
        yield tuple(path.split("::"))


def resolve(path: tuple[str, ...], module: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return a path of `use` as names below the crate, or None if it leaves the crate."""
    if path[0] == "crate":
        return path[1:]
    if path[0] not in ("super", "self"):
        return None
    base = list(module)
    names = list(path)
    while names and names[0] in ("super", "self"):
        if names.pop(0) == "super":
            base.pop()
    return (*base, *names)


def find_circle(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the part of a graph that has no topological order; empty if there is no circle."""
    while free := {name for name, targets in edges.items() if not targets & edges.keys()}:
        edges = {name: targets for name, targets in edges.items() if name not in free}
    return edges


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_modules_of_a_rust_folder_have_no_circle(crate: Path) -> None:
    """Sibling modules of every folder can be put in an order in which each uses earlier ones only."""
    source = crate / "src"
    edges: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for file in sorted(source.rglob("*.rs")):
        module = file.relative_to(source).with_suffix("").parts
        module = module[:-1] if module[-1] in ("mod", "lib") else module
        for path in use_paths(rust_code(file)):
            target = resolve(path, module)
            if target is None:
                continue
            common = 0
            while common < min(len(module), len(target)) and module[common] == target[common]:
                common += 1
            if common < len(module) and common < len(target):
                folder = source.joinpath(*target[:common])
                if (folder / f"{target[common]}.rs").exists() or (folder / target[common]).is_dir():
                    edges.setdefault(module[:common], {}).setdefault(module[common], set()).add(target[common])
    assert len(edges) > 5 or crate != CORE
    circles = {"/".join(folder) or ".": circle for folder, graph in edges.items() if (circle := find_circle(graph))}
    assert {} == circles


def test_paths_of_use_are_found_in_every_form() -> None:
    """The reader of `use` trees must not pass by seeing nothing."""
    code = "use super::{a::{B, c::D as E}, f};\nuse crate::g::H;\nfn x() { super::i::j(); crate::k::l() }"
    expected = {
        ("super", "a", "B"),
        ("super", "a", "c", "D"),
        ("super", "f"),
        ("crate", "g", "H"),
        ("super", "i", "j"),
        ("crate", "k", "l"),
    }
    assert expected == set(use_paths(code))
    assert ("m", "a", "B") == resolve(("super", "a", "B"), ("m", "n"))
    assert {"a": {"b"}, "b": {"a"}} == find_circle({"a": {"b"}, "b": {"a"}, "c": {"a"}} | {"c": set()})


def test_benchmarks_have_no_circle() -> None:
    """Scripts of `bench/` import one another in one direction only."""
    scripts = {path.stem: path for path in (ROOT / "bench").glob("*.py")}
    edges = {}
    for name, path in scripts.items():
        nodes = list(ast.walk(parse(path)))
        targets = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        targets |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        edges[name] = targets & scripts.keys() - {name}
    assert {} == find_circle(edges)


@pytest.mark.parametrize("crate", [BASE, CORE], ids=lambda crate: crate.name)
def test_kernels_know_no_python(crate: Path) -> None:
    """No pyo3, no numpy: neither in the crate's manifest nor in its sources."""
    manifest = (crate / "Cargo.toml").read_text(encoding="utf-8")
    assert re.search(r"pyo3|numpy", manifest) is None
    faults = [path.name for path in (crate / "src").rglob("*.rs") if re.search(r"\b(pyo3|numpy)\b", rust_code(path))]
    assert [] == faults


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("use crate::error::Error;", {"error"}),
        ("use crate::{Error, Result, text::{Scratch, Kind}, hash};", {"text", "hash"}),
        ("fn f() { crate::idset::IdSet::default() }", {"idset"}),
    ],
)
def test_uses_are_found_in_every_form(code: str, expected: set[str]) -> None:
    """The reader of `use` lines is itself tested: it must not pass by seeing nothing."""
    assert expected == rust_uses(code)


def test_imports_are_found_in_every_form(tmp_path: Path) -> None:
    """So is the reader of imports."""
    path = tmp_path / "example.py"
    path.write_text(
        "import nearkin.io\nfrom nearkin import errors, dedup\ndef f():\n    from nearkin.io.files import x\n"
    )
    assert {"io", "errors", "dedup", "io.files"} == set(imported(path, {"io", "errors", "dedup", "io.files"}))


FEATURES = BASE / "src" / "cpu" / "features.rs"


def feature_sets() -> set[frozenset[str]]:
    """The sets of instructions that `cpu/features.rs` names, each as the names of its features."""
    block = re.search(r"^x86_sets! \{\n(.*?)^\}", FEATURES.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert block is not None
    lists = re.findall(r"^    [A-Z]\w+, \d, [^:]+: (.*?);", block.group(1), re.MULTILINE | re.DOTALL)
    neon = re.findall(r"^pub struct Neon\(\(\)\);", FEATURES.read_text(encoding="utf-8"), re.MULTILINE)
    return {frozenset(re.findall(r'"(\w+)"', features)) for features in lists} | {frozenset({"neon"}) for _ in neon}


def test_one_place_asks_the_processor() -> None:
    """No other file than those of `cpu/` asks for features or names the prefetch instruction."""
    words = r"is_x86_feature_detected|is_aarch64_feature_detected|_mm_prefetch"
    faults = [
        f"{path.name}: {found}"
        for crate in CRATES
        for path in sorted((crate / "src").rglob("*.rs"))
        if path.parent != FEATURES.parent
        for found in re.findall(words, path.read_text(encoding="utf-8"))
    ]
    assert [] == faults


def test_kernels_enable_what_one_proof_proves() -> None:
    """Each `#[target_feature]` of the core lists the features of one named set, so that its value proves the call."""
    sets = feature_sets()
    assert 5 == len(sets)
    found = [
        (path.name, frozenset(features.split(",")))
        for crate in (BASE, CORE)
        for path in sorted((crate / "src").rglob("*.rs"))
        for features in re.findall(r'target_feature\(enable = "([\w,.]+)"\)', path.read_text(encoding="utf-8"))
    ]
    assert found
    assert [] == [(name, sorted(features)) for name, features in found if features not in sets]
