"""Pickles and copies of every index: the bytes of its file, and its attributes.

A copy is opened from those bytes: it answers exactly alike, and what happens to one afterwards leaves the other as it
is. `pickle`, `copy.copy` and `copy.deepcopy` all go this way, through a temporary file that is removed at once; the
memory map of it outlives its name. Cost: what `save` and `open` cost, and the size of the file in memory while a pickle
is made.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearkin.index.ids import HeldByIds
from nearkin.index.persistence import KnowsItsFiles

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CopiedByFile"]


class CopiedByFile(KnowsItsFiles, HeldByIds):
    """An index that is pickled and copied by way of its file."""

    if TYPE_CHECKING:

        def save(self, path: str | os.PathLike[str], /, *, overwrite: bool = False) -> None:
            """As every index has it."""

        @classmethod
        def open(cls, path: str | os.PathLike[str], /) -> Self:
            """As every index has it."""

    def _save_core(self, place: str) -> None:
        """Write the file whose bytes stand for the core."""
        self.save(place)
        self._forget(place)

    def _open_core(self, place: str) -> Any:
        """The core of such a file."""
        return vars(type(self).open(place))["_core"]

    def __getstate__(self) -> dict[str, Any]:
        """What `pickle` keeps: the attributes, and the index as the bytes of its file."""
        state = {name: value for name, value in vars(self).items() if name not in ("_core", "_stamps")}
        # An index of vectors has none before it is fitted.
        if vars(self)["_core"] is not None:
            with _temporary() as path:
                self._save_core(str(path))
                state["_file"] = path.read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The inverse."""
        attributes = dict(state)
        file = attributes.pop("_file", None)
        vars(self).update(attributes, _core=None)
        if file is not None:
            with _temporary() as path:
                path.write_bytes(file)
                vars(self)["_core"] = self._open_core(str(path))


@contextmanager
def _temporary() -> Iterator[Path]:
    """The name of a file that is gone afterwards; a system that keeps mapped files removes it with its folder."""
    with tempfile.TemporaryDirectory(prefix="nearkin-", ignore_cleanup_errors=True) as folder:
        yield Path(folder, "index")
