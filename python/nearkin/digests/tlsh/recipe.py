"""Recipes of TLSH digests: how a file becomes a digest.

tlsh[:256][:checksum3][:conservative]
"""

from __future__ import annotations

from typing import Any, Literal, overload

from nearkin.digests.inputs import Data, OnError, Paths
from nearkin.digests.tlsh.comparison import Digest, distance
from nearkin.digests.tlsh.hashing import BUCKETS, CHECKSUM, hash, hash_files  # noqa: A004 - the public name
from nearkin.errors import bad_parameter
from nearkin.progress import ShowProgress
from nearkin.recipe.base import FrozenRecipe

_SLOTS: dict[str, object] = {"family": "tlsh", "buckets": BUCKETS, "checksum": CHECKSUM, "conservative": False}
_FLAGS: dict[str, tuple[str, object]] = {
    "256": ("buckets", 256),
    "checksum3": ("checksum", 3),
    "conservative": ("conservative", True),
}


class TlshRecipe(FrozenRecipe):
    """A recipe of TLSH digests. Only digests with equal recipes can be compared.

    Parameters
    ----------
    text : str, default "tlsh"
        Text form: the family with its flags, `tlsh[:256][:checksum3][:conservative]`.

    Attributes
    ----------
    family : str
        "tlsh".
    buckets, checksum, conservative
        As for `nearkin.digests.tlsh.hash`.

    Raises
    ------
    ParameterError
        The family or a flag is unknown, or a flag occurs twice.

    Examples
    --------
    >>> import nearkin as nk
    >>> recipe = nk.tlsh.TlshRecipe("tlsh:256")
    >>> len(recipe.hash(b"The quick brown fox jumps over the lazy dog, and the dog sleeps on." * 9))
    136
    """

    _defaults = _SLOTS

    family: str
    buckets: int
    checksum: int
    conservative: bool

    def __init__(self, text: str = "tlsh") -> None:
        if not isinstance(text, str):
            raise bad_parameter("recipe", repr(text), "the text form, such as tlsh or tlsh:256")
        family, *flags = text.split(":")
        if any(flag not in _FLAGS or flags.count(flag) > 1 for flag in flags):
            raise bad_parameter("recipe", text, "tlsh[:256][:checksum3][:conservative], each once")
        self._fill({"family": family, **dict(_FLAGS[flag] for flag in flags)})

    def _fill(self, slots: dict[str, object]) -> None:
        slots = {**_SLOTS, **slots}
        for name, allowed in (
            ("family", ("tlsh",)),
            ("buckets", (128, 256)),
            ("checksum", (1, 3)),
            ("conservative", (False, True)),
        ):
            if not any(slots[name] == value and type(slots[name]) is type(value) for value in allowed):
                raise bad_parameter(name, repr(slots[name]), " or ".join(map(str, allowed)))
        self.__dict__.update(slots)

    @classmethod
    def of(cls, recipe: TlshRecipe | str | None) -> TlshRecipe:
        """Convert a text form to a recipe; None is the default recipe.

        Parameters
        ----------
        recipe : TlshRecipe, str or None
            A recipe, its text form, or None.
        """
        return recipe if isinstance(recipe, TlshRecipe) else cls() if recipe is None else cls(recipe)

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part, incremented when its values change."""
        return {"recipe": 1, self.family: 1}

    @property
    def flags(self) -> dict[str, Any]:
        """Keyword arguments of `nearkin.digests.tlsh.hash`."""
        return {"buckets": self.buckets, "checksum": self.checksum, "conservative": self.conservative}

    def hash(self, data: Data) -> str:
        """Compute the digest of bytes, of a file or of a stream by `nearkin.digests.tlsh.hash`.

        Parameters
        ----------
        data : bytes-like, str, os.PathLike or binary file-like
            As for `nearkin.digests.tlsh.hash`.
        """
        return hash(data, **self.flags)

    @overload
    def hash_files(
        self, paths: Paths, *, on_error: Literal["raise"] = "raise", progress: ShowProgress = None
    ) -> list[str]: ...

    @overload
    def hash_files(
        self, paths: Paths, *, on_error: OnError, progress: ShowProgress = None
    ) -> list[str | Exception]: ...

    def hash_files(
        self, paths: Paths, *, on_error: OnError = "raise", progress: ShowProgress = None
    ) -> list[str] | list[str | Exception]:
        """Compute the digests of many files by `nearkin.digests.tlsh.hash_files`.

        Parameters
        ----------
        paths, on_error, progress
            As for `nearkin.digests.tlsh.hash_files`.
        """
        return hash_files(paths, on_error=on_error, progress=progress, **self.flags)

    def distance(self, a: Digest, b: Digest) -> int:
        """Compute the distance of two digests of this recipe by `nearkin.digests.tlsh.distance`.

        Parameters
        ----------
        a, b
            As for `nearkin.digests.tlsh.distance`.
        """
        return distance(a, b)

    def __str__(self) -> str:
        return ":".join(
            [self.family, *(flag for flag, (name, value) in _FLAGS.items() if getattr(self, name) == value)]
        )
