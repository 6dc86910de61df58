"""Public names of a package that are imported on first use, so that importing the package is fast."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar

_Getattr: TypeAlias = "Callable[[str], object]"
_Dir: TypeAlias = "Callable[[], list[str]]"
_Method = TypeVar("_Method", bound="Callable[..., Any]")


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]], *, own: Sequence[str] = ()
) -> tuple[list[str], _Getattr, _Dir]:
    """Return the `__all__`, `__getattr__` and `__dir__` of a package that imports its public names on first use.

    A name becomes an ordinary attribute. The error for a name that a listed package has says so.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    modules : mapping of str to sequence of str
        The names in each module below the package; those under "" are modules themselves.
    own : sequence of str
        Public names that the package has already.

    Examples
    --------
    >>> from nearkin.lazy import lazy_names
    >>> names, getattr_, _ = lazy_names("nearkin", {"quality.evaluation": ["evaluate"]}, own=["errors"])
    >>> names, getattr_("evaluate").__name__
    (['errors', 'evaluate'], 'evaluate')
    """
    module_of = {name: module for module, names in modules.items() for name in names}
    public = sorted([*own, *module_of])

    def import_name(name: str) -> object:
        if name not in module_of:
            message = f"module {package!r} has no attribute {name!r}"
            # A name that is a module may be on its way to be imported.
            if not name.startswith("_") and find_spec(f"{package}.{name}") is None:
                below = (import_module(f"{package}.{each}") for each in modules.get("", ()))
                holder = next((each.__name__ for each in below if name in getattr(each, "__all__", ())), None)
                message += f"; it is in {holder}" if holder else ""
            raise AttributeError(message)
        module = import_module(f"{package}.{module_of[name] or name}")
        value: object = getattr(module, name) if module_of[name] else module
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*public, *(name for name in vars(sys.modules[package]) if re.fullmatch("__.*__", name))})

    return public, import_name, list_names


def renamed(old: str, method: _Method) -> _Method:
    """Return a method of the name before its last change, which warns and calls `method`."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"{old} is deprecated; use {method.__name__}", DeprecationWarning, stacklevel=2)
        return method(*args, **kwargs)

    return call  # type: ignore[return-value]
