"""The stub `_core.pyi` equals the binary: names, classes, methods, parameters and their defaults."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

import nearkin
from nearkin import _core

STUB = ast.parse((Path(nearkin.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
VALUES = {
    node.target.id: node for node in STUB.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
}

Parameters = list[tuple[str, str, str]]
"""Name, kind and default ("" for none) of each parameter."""


def stub_parameters(node: ast.FunctionDef, *, method: bool) -> Parameters:
    """Parameters of a function of the stub, without self or cls."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    found = [
        (argument.arg, "positional", "" if default is None else ast.unparse(default))
        for argument, default in zip(positional, defaults, strict=True)
    ]
    static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)
    found = found[int(method and not static) :]
    return found + [
        (argument.arg, "keyword", "" if default is None else ast.unparse(default))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]


def binary_parameters(function: Any) -> Parameters:
    """Parameters of a compiled function, without self."""
    kinds = {inspect.Parameter.KEYWORD_ONLY: "keyword"}
    return [
        (
            parameter.name,
            kinds.get(parameter.kind, "positional"),
            "" if parameter.default is parameter.empty else repr(parameter.default),
        )
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", "$self")
    ]


def public(names: Any) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def members(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}


def is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)


METHODS = [
    (name, method)
    for name, node in CLASSES.items()
    for method, item in members(node).items()
    if not is_property(item) and method not in ("__new__", "__init__", "__len__")
]


def test_names_of_the_stub_are_those_of_the_binary() -> None:
    """Nothing is missing and nothing is promised that is not there."""
    promised = public(FUNCTIONS) | public(CLASSES) | public(VALUES)
    assert promised == public(dir(_core))
    assert _core.__version__ == nearkin.__version__


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_have_the_parameters_of_the_stub(name: str) -> None:
    """Names, order, kinds and defaults."""
    expected, found = stub_parameters(FUNCTIONS[name], method=False), binary_parameters(getattr(_core, name))
    assert expected == with_ellipses(found, expected)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_classes_have_the_members_of_the_stub(name: str) -> None:
    """Methods and properties; properties are no methods."""
    node, found = members(CLASSES[name]), getattr(_core, name)
    assert public(node) == public(vars(found))
    assert {key for key in public(node) if is_property(node[key])} == {
        key for key in public(vars(found)) if inspect.isdatadescriptor(vars(found)[key])
    }
    assert ("__len__" in node) == hasattr(found, "__len__")


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_classes_are_made_as_the_stub_says(name: str) -> None:
    """Parameters of the constructor; a class without one in the stub can't be made."""
    node, found = members(CLASSES[name]), getattr(_core, name)
    maker = node.get("__new__") or node.get("__init__")
    if maker is None:
        with pytest.raises(TypeError, match=r"[Nn]o constructor|cannot create"):
            found()
    else:
        expected = stub_parameters(maker, method=True)
        assert expected == with_ellipses(binary_parameters(found), expected)


@pytest.mark.parametrize(("name", "method"), METHODS, ids=lambda name: str(name))
def test_methods_have_the_parameters_of_the_stub(name: str, method: str) -> None:
    """As functions, without self, which static methods don't have."""
    stub = members(CLASSES[name])[method]
    static = any("staticmethod" == ast.unparse(decorator) for decorator in getattr(stub, "decorator_list", []))
    expected = stub_parameters(stub, method=not static)
    assert expected == with_ellipses(binary_parameters(getattr(getattr(_core, name), method)), expected)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_values_have_the_types_of_the_stub(name: str) -> None:
    """Constants of the module."""
    assert ast.unparse(VALUES[name].annotation) == type(getattr(_core, name)).__name__


def with_ellipses(found: Parameters, expected: Parameters) -> Parameters:
    """Defaults that the stub writes as `...` because they are no literals stand for any default, but not for none."""
    dots = {name for name, _, default in expected if default == "..."}
    return [(name, kind, "..." if name in dots and default else default) for name, kind, default in found]
