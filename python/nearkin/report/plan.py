"""The page of a plan: the result of `explain()` of an index, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nearkin.report.model import Contents, Section, Table
from nearkin.report.page import render


def plan_page(plan: Mapping[str, Any], name: str = "index") -> str:
    """Return the page of a plan, as HTML.

    Parameters
    ----------
    plan : mapping
        The result of `explain()` of an index.
    name : str, default "index"
        Name of the index on the page.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.

    Examples
    --------
    >>> import nearkin as nk
    >>> from nearkin.report.plan import plan_page
    >>> index = nk.HammingIndex(64, radius=3)
    >>> page = plan_page(index.explain(), "fingerprints.nk")
    >>> "<h1>Plan of fingerprints.nk</h1>" in page
    True
    """
    return render(build_plan(plan, name))


def build_plan(plan: Mapping[str, Any], name: str = "index") -> Contents:
    """Return the content of the page: a table of single values, and one for each group of values."""
    return Contents(f"Plan of {name}", sections=(Section("Plan", tables=tuple(_build_tables(plan, name))),))


def _build_tables(values: Mapping[str, Any], title: str) -> Iterator[Table]:
    """Yield a table of single values, then the tables of each mapping, and of each list of mappings."""
    rows: list[tuple[str, str]] = []
    inner: list[Table] = []
    for key, value in values.items():
        name = str(key).replace("_", " ")
        if isinstance(value, Mapping):
            inner += _build_tables(value, f"{title}: {name}")
        elif isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value):
            for number, part in enumerate(value, 1):
                inner += _build_tables(part, f"{title}: {name}, {number}")
        else:
            rows.append((name, _format(value)))
    if rows:
        yield Table(title, ("what", "value"), rows)
    yield from inner


def _format(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_format, value)) or "none"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if isinstance(value, float) else str(value)
