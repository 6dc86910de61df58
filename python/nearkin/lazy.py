"""Public names of a package that are imported on first use, so that importing the package is fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package that imports a name and makes it an ordinary attribute.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    modules : mapping of str to str
        The module of each name, below the package; "" for a name that is a module itself.

    Examples
    --------
    >>> from nearkin.lazy import lazy_names
    >>> lazy_names("nearkin", {"evaluate": "quality.evaluation"})("evaluate").__name__
    'evaluate'
    """

    def import_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{modules[name] or name}")
        value: object = getattr(module, name) if modules[name] else module
        setattr(sys.modules[package], name, value)
        return value

    return import_name
