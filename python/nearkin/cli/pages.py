"""Pages that commands write beside what they print: `--report FILE.html`."""

from __future__ import annotations

from pathlib import Path

from nearkin.errors import bad_parameter

ENDS = (".html", ".htm")


def check_page(path: Path | None, option: str = "report") -> None:
    """Refuse, before there is any work for it, a page that can't be written at the end.

    The name must be that of a page, so that a corpus or table that is named by mistake is not replaced.

    Raises
    ------
    ParameterError
        The name does not end with .html, or is that of a folder, or its folder does not exist.
    MissingExtraError
        Jinja2 is not installed.
    """
    if path is None:
        return
    from nearkin.report.page import check_installed

    if path.suffix.lower() not in ENDS:
        raise bad_parameter(option, str(path), "a name that ends with .html")
    if path.is_dir():
        raise bad_parameter(option, str(path), "a file; this is a folder")
    if not path.absolute().parent.is_dir():
        raise bad_parameter(option, str(path), "a file in a folder that exists")
    check_installed()


def write_page(path: Path, page: str) -> None:
    """Write a page, which replaces a file of that name whole or not at all.

    Raises
    ------
    OSError
        It can't be written.
    """
    from nearkin.io import replace_file

    with replace_file(path) as file:
        file.write(page.encode())


__all__ = ["ENDS", "check_page", "write_page"]
