"""Output of a deduplication, which a store may remember: both change together, or neither."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearkin.errors import OutputError, bad_parameter

if TYPE_CHECKING:
    from nearkin.dedup.result import DedupResult
    from nearkin.io import OutputDir
    from nearkin.store.store import Store


class Output:
    """The folder of a run and what is written into it.

    Parameters
    ----------
    target : OutputDir or None
        None stands for standard output.
    write : function
        Writes a result into the target, and gives the summary as it stands there.
    """

    def __init__(
        self, target: OutputDir | None, write: Callable[[DedupResult, OutputDir | None], dict[str, Any]]
    ) -> None:
        self.target, self._write = target, write
        self.summary: dict[str, Any] = {}

    def put(self, result: DedupResult) -> OutputDir | None:
        """Write a result, over what an earlier call has written."""
        if self.target is not None and self.summary:
            self.target.restart()
        self.summary = self._write(result, self.target)
        return self.target


def check_alone(store: Path | None, against: Sequence[str], out: str) -> None:
    """Refuse what does not go with a store that remembers."""
    if store is not None and re.match(r"https?:/", str(store)):
        allowed = "a folder: output and store change together, where the store is; or `nearkin store add URL`"
        raise bad_parameter("store", store, allowed)
    if store is not None and (against or out == "-"):
        option, found = ("against", ", ".join(against)) if against else ("out", out)
        raise bad_parameter(option, found, "a folder as --out, and no --against, with --store")


@contextmanager
def remembering_store(path: Path | None, out: str) -> Iterator[Store | None]:
    """A context with the store that is to remember what stays; None where none is named.

    It is entered before anything is read: what an interrupted run owes takes its place then.

    Raises
    ------
    OutputError
        That was the output of this command.
    """
    if path is None:
        yield None
        return
    from nearkin.store.store import Store

    with Store.open(path) as store:
        if Path(os.path.realpath(out)) in store.recovered_outputs:
            message = f"{out}: the output of an interrupted run has just been put in its place; use it, then run again"
            raise OutputError(message, place=out, in_place="new")
        yield store
