"""What pages of several doors share: the page of the service and the page of a report.

`nodes.js` makes elements, `differences.js` finds and draws the differences of two texts.
"""

from __future__ import annotations

from pathlib import Path

from nearkin.errors import bad_parameter

FOLDER = Path(__file__).parent


def assets() -> dict[str, Path]:
    """The shared files by name."""
    return {path.name: path for path in sorted(FOLDER.glob("*.js"))}


def asset(name: str) -> str:
    """The text of a shared file.

    Parameters
    ----------
    name : str
        Such as "differences.js".

    Raises
    ------
    ParameterError
        There is no such file.

    Examples
    --------
    >>> from nearkin.web_assets import asset
    >>> asset("differences.js").splitlines()[0]
    '// The differences of two texts, by words; by characters where a script has no spaces between words, or if asked.'
    """
    known = assets()
    if name not in known:
        raise bad_parameter("name", name, f"one of {', '.join(known)}")
    return known[name].read_text(encoding="utf-8")


__all__ = ["FOLDER", "asset", "assets"]
