"""Recipes of fuzzy digests: how a file becomes a digest, and digests a score.

[html+lines+space|]ssdeep[:elimseq][:notrunc][:common:LENGTH]
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, overload

from nearkin.digests.inputs import Data, OnError, Paths
from nearkin.digests.ssdeep.comparison import LEAST_COMMON, Digest, check_least_common, compare
from nearkin.digests.ssdeep.hashing import check_steps, hash, hash_files  # noqa: A004 - the public name
from nearkin.errors import bad_parameter, mismatch
from nearkin.progress import ShowProgress
from nearkin.recipe.base import FrozenRecipe

_SLOTS: dict[str, object] = {
    "normalize": (),
    "family": "ssdeep",
    "eliminate_runs": False,
    "truncate": True,
    "least_common": LEAST_COMMON,
}
_FLAGS = {"elimseq": ("eliminate_runs", True), "notrunc": ("truncate", False)}
_FORM = "[html+lines+space|]ssdeep[:elimseq][:notrunc][:common:LENGTH], each once"


class DigestRecipe(FrozenRecipe):
    """A recipe of fuzzy digests. Only digests with equal recipes can be compared.

    Parameters
    ----------
    text : str, default "ssdeep"
        Text form: normalisation steps joined by `+`, a bar, and the family with its flags.

    Attributes
    ----------
    normalize : tuple of str
        Steps of `nearkin.digests.ssdeep.normalize`, in order of application.
    family : str
        "ssdeep".
    eliminate_runs, truncate : bool
        As for `nearkin.digests.ssdeep.hash`.
    least_common : int
        As for `nearkin.digests.ssdeep.compare`; `ssdeep:common:5` requires five characters.

    Raises
    ------
    ParameterError
        A step, family or flag is unknown or occurs twice.

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
    _omitted: ClassVar[tuple[str, ...]] = ("least_common",)

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
        slots["normalize"] = check_steps(slots["normalize"])
        if slots["family"] != "ssdeep":
            raise bad_parameter("family", repr(slots["family"]), "ssdeep")
        for name in ("eliminate_runs", "truncate"):
            if not isinstance(slots[name], bool):
                raise bad_parameter(name, repr(slots[name]), "True or False")
        slots["least_common"] = check_least_common(slots["least_common"])
        self.__dict__.update(slots)

    @classmethod
    def of(cls, recipe: DigestRecipe | str | None) -> DigestRecipe:
        """Convert a text form to a recipe; None is the default recipe.

        Parameters
        ----------
        recipe : DigestRecipe, str or None
            A recipe, its text form, or None.
        """
        return recipe if isinstance(recipe, DigestRecipe) else cls() if recipe is None else cls(recipe)

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part, incremented when its values change."""
        return {"recipe": 1, "normalize": 1, self.family: 1}

    @property
    def flags(self) -> dict[str, Any]:
        """Keyword arguments of `nearkin.digests.ssdeep.hash`."""
        return {"eliminate_runs": self.eliminate_runs, "truncate": self.truncate, "normalize": self.normalize}

    def hash(self, data: Data) -> str:
        """Compute the digest of bytes, of a file or of a stream by `nearkin.digests.ssdeep.hash`.

        Parameters
        ----------
        data : bytes-like, str, os.PathLike or binary file-like
            As for `nearkin.digests.ssdeep.hash`.
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
        """Compute the digests of many files by `nearkin.digests.ssdeep.hash_files`.

        Parameters
        ----------
        paths, on_error, progress
            As for `nearkin.digests.ssdeep.hash_files`.
        """
        return hash_files(paths, on_error=on_error, progress=progress, **self.flags)

    def compare(self, a: Digest, b: Digest, *, strict: bool = True) -> int:
        """Compute the score of two digests of this recipe by `nearkin.digests.ssdeep.compare`.

        Parameters
        ----------
        a, b, strict
            As for `nearkin.digests.ssdeep.compare`.
        """
        return compare(a, b, strict=strict, least_common=self.least_common)

    def check_searchable(self) -> None:
        """Refuse a recipe that no index supports: an index finds digests that share seven consecutive characters.

        Raises
        ------
        ParameterError
            `least_common` is not 7.
        """
        if self.least_common != LEAST_COMMON:
            allowed = f"{LEAST_COMMON} to search by an index, which lists that many successive characters"
            raise bad_parameter("least_common", self.least_common, f"{allowed}; compare_many and matrix take others")

    def check_same(self, other: DigestRecipe) -> None:
        """Raise MismatchError with the first slot in which `other` differs.

        Parameters
        ----------
        other : DigestRecipe
            Recipe of the other digests.

        Raises
        ------
        MismatchError
            Contains the first slot that differs.
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
