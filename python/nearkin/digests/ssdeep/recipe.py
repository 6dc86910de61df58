"""How a file becomes a fuzzy digest and digests a score, as one line.

[html+lines+space|]ssdeep[:elimseq][:notrunc][:common:LENGTH]
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import ClassVar, Literal, TypedDict, overload

from nearkin.digests.ssdeep.hashing import Data, hash, hash_files  # noqa: A004 - the promised name
from nearkin.digests.ssdeep.scores import LEAST_COMMON, Digest, check_least_common, compare
from nearkin.digests.ssdeep.text import chosen
from nearkin.errors import bad_parameter, mismatch
from nearkin.progress import ShowProgress
from nearkin.recipe.base import FrozenRecipe

__all__ = ["DigestRecipe"]

_SLOTS: dict[str, object] = {
    "normalize": (),
    "family": "ssdeep",
    "eliminate_runs": False,
    "truncate": True,
    "least_common": LEAST_COMMON,
}
_FLAGS = {"elimseq": ("eliminate_runs", True), "notrunc": ("truncate", False)}
_FORM = "[html+lines+space|]ssdeep[:elimseq][:notrunc][:common:LENGTH], each once"


class Flags(TypedDict):
    """What `nearkin.digests.ssdeep.hash` is called with by a recipe."""

    eliminate_runs: bool
    truncate: bool
    normalize: tuple[str, ...]


class DigestRecipe(FrozenRecipe):
    """How a file becomes a fuzzy digest: digests can be compared if their recipes are equal.

    Parameters
    ----------
    text : str, default "ssdeep"
        Text form: steps of normalisation joined by `+`, a bar, and the family with its flags.

    Attributes
    ----------
    normalize : tuple of str
        Steps of `nearkin.digests.ssdeep.normalize`, in the order in which they are applied.
    family : str
        "ssdeep".
    eliminate_runs, truncate : bool
        As for `nearkin.digests.ssdeep.hash`.
    least_common : int
        As for `nearkin.digests.ssdeep.compare`; `ssdeep:common:5` asks for five characters.

    Raises
    ------
    ParameterError
        For a step, family or flag that is unknown or given twice.

    Examples
    --------
    >>> import nearkin as nk
    >>> recipe = nk.ssdeep.DigestRecipe("space+html|ssdeep")
    >>> str(recipe)
    'html+space|ssdeep'
    >>> recipe.hash(b"<p>Hello,   World!") == nk.ssdeep.hash(b"Hello, World!")
    True
    >>> recipe.check_same(nk.ssdeep.DigestRecipe())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    nearkin.errors.MismatchError: recipe slot normalize differs: html+space against none; compare only what was...
    """

    _defaults = _SLOTS
    _unwritten: ClassVar[tuple[str, ...]] = ("least_common",)

    normalize: tuple[str, ...]
    family: str
    eliminate_runs: bool
    truncate: bool
    least_common: int

    def __init__(self, text: str = "ssdeep") -> None:
        if not isinstance(text, str):
            raise bad_parameter("recipe", repr(text), "the text form, such as html+space|ssdeep")
        *before, kernel = text.split("|")
        family, *flags = kernel.strip().split(":")
        common: dict[str, object] = {}
        if "common" in flags[:-1]:
            at = flags.index("common")
            _, length = flags[at : at + 2]
            if not length.isascii() or not length.isdigit():
                raise bad_parameter("recipe", text, _FORM)
            common = {"least_common": int(length)}
            del flags[at : at + 2]
        if len(before) > 1 or any(flag not in _FLAGS or flags.count(flag) > 1 for flag in flags):
            raise bad_parameter("recipe", text, _FORM)
        steps = [step.strip() for step in before[0].split("+")] if before else []
        if len(set(steps)) != len(steps):
            raise bad_parameter("recipe", text, "each step of normalisation once")
        self._fill({"normalize": steps, "family": family, **dict(_FLAGS[flag] for flag in flags), **common})

    def _fill(self, slots: dict[str, object]) -> None:
        slots = {**_SLOTS, **slots}
        slots["normalize"] = chosen(slots["normalize"])
        if slots["family"] != "ssdeep":
            raise bad_parameter("family", repr(slots["family"]), "ssdeep")
        for name in ("eliminate_runs", "truncate"):
            if not isinstance(slots[name], bool):
                raise bad_parameter(name, repr(slots[name]), "True or False")
        slots["least_common"] = check_least_common(slots["least_common"])
        self.__dict__.update(slots)

    @classmethod
    def of(cls, recipe: DigestRecipe | str | None) -> DigestRecipe:
        """`recipe` itself, the one of a text form, or the default for None.

        Parameters
        ----------
        recipe : DigestRecipe, str or None
            A recipe, its text form, or None.
        """
        return recipe if isinstance(recipe, DigestRecipe) else cls() if recipe is None else cls(recipe)

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part: raised when its values change."""
        return {"recipe": 1, "normalize": 1, self.family: 1}

    @property
    def flags(self) -> Flags:
        """What `nearkin.digests.ssdeep.hash` is called with."""
        return {"eliminate_runs": self.eliminate_runs, "truncate": self.truncate, "normalize": self.normalize}

    def hash(self, data: Data) -> str:
        """The digest of bytes, of a file or of a stream, as `nearkin.digests.ssdeep.hash` gives it.

        Parameters
        ----------
        data : bytes-like, str, os.PathLike or binary file-like
            As for `nearkin.digests.ssdeep.hash`.
        """
        return hash(data, **self.flags)

    @overload
    def hash_files(
        self,
        paths: Iterable[str | os.PathLike[str]],
        *,
        on_error: Literal["raise"] = "raise",
        progress: ShowProgress = None,
    ) -> list[str]: ...

    @overload
    def hash_files(
        self,
        paths: Iterable[str | os.PathLike[str]],
        *,
        on_error: Literal["raise", "return"],
        progress: ShowProgress = None,
    ) -> list[str | Exception]: ...

    def hash_files(
        self,
        paths: Iterable[str | os.PathLike[str]],
        *,
        on_error: Literal["raise", "return"] = "raise",
        progress: ShowProgress = None,
    ) -> list[str] | list[str | Exception]:
        """The digests of many files, as `nearkin.digests.ssdeep.hash_files` gives them.

        Parameters
        ----------
        paths, on_error, progress
            As for `nearkin.digests.ssdeep.hash_files`.
        """
        return hash_files(paths, on_error=on_error, progress=progress, **self.flags)

    def compare(self, a: Digest, b: Digest, *, strict: bool = True) -> int:
        """The score of two digests of this recipe, as `nearkin.digests.ssdeep.compare` gives it.

        Parameters
        ----------
        a, b, strict
            As for `nearkin.digests.ssdeep.compare`.
        """
        return compare(a, b, strict=strict, least_common=self.least_common)

    def check_searched(self) -> None:
        """Refuse a recipe whose matches no index finds: an index lists what shares seven successive characters.

        Raises
        ------
        ParameterError
            `least_common` is not 7.
        """
        if self.least_common != LEAST_COMMON:
            allowed = f"{LEAST_COMMON} to search by an index, which lists that many successive characters"
            raise bad_parameter("least_common", self.least_common, f"{allowed}; compare_many and matrix take others")

    def check_same(self, other: DigestRecipe) -> None:
        """Raise MismatchError naming the first slot in which `other` differs.

        Parameters
        ----------
        other : DigestRecipe
            The recipe of other digests.

        Raises
        ------
        MismatchError
            Names the first slot that differs.
        """
        if isinstance(other, DigestRecipe) and self.normalize != other.normalize:
            names = ["+".join(recipe.normalize) or "none" for recipe in (self, other)]
            raise mismatch("recipe slot normalize", *names)
        super().check_same(other)

    def __str__(self) -> str:
        flags = [flag for flag, (name, value) in _FLAGS.items() if getattr(self, name) == value]
        if self.least_common != LEAST_COMMON:
            flags += ["common", str(self.least_common)]
        return "|".join([*(["+".join(self.normalize)] if self.normalize else []), ":".join([self.family, *flags])])
