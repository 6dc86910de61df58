"""JavaScript shared by the page of the service and the page of a report.

`nodes.js` creates elements; `differences.js` computes and renders the differences of two texts.
"""

from __future__ import annotations

from pathlib import Path

from nearkin.errors import bad_parameter

FOLDER = Path(__file__).parent


def assets() -> dict[str, Path]:
    """Return the shared files by name."""
    return {path.name: path for path in sorted(FOLDER.glob("*.js"))}


def asset(name: str) -> str:
    """Return the text of a shared file.

    Parameters
    ----------
    name : str
        File name, such as "differences.js".

    Raises
    ------
    ParameterError
        No file has this name.

    Examples
    --------
    >>> from nearkin.web_assets import asset
    >>> asset("differences.js").splitlines()[0]
    '// Differences of two texts by words, or by characters in scripts without spaces between words.'
    """
    files = assets()
    if name not in files:
        raise bad_parameter("name", name, f"one of {', '.join(files)}")
    return files[name].read_text(encoding="utf-8")


__all__ = ["FOLDER", "asset", "assets"]
