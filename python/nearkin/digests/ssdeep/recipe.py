"""Recipes of fuzzy digests: how a file becomes a digest, and digests a score.

[html+lines+space|]ssdeep[:elimseq][:notrunc][:common:LENGTH]
"""

from __future__ import annotations

from typing import ClassVar

from nearkin.digests.base import Choices, Digest, Flags, FuzzyRecipe
from nearkin.digests.ssdeep.comparison import LEAST_COMMON, check_least_common, compare
from nearkin.digests.ssdeep.hashing import check_steps, hash, hash_files  # noqa: A004 - the public name
from nearkin.errors import bad_parameter, mismatch


class DigestRecipe(FuzzyRecipe):
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
    nearkin.errors.MismatchError: recipe slot normalize differs: html+space against none; compare only values...
    """

    _defaults: ClassVar[dict[str, object]] = {
        "normalize": (),
        "family": "ssdeep",
        "eliminate_runs": False,
        "truncate": True,
        "least_common": LEAST_COMMON,
    }
    _omitted = ("least_common",)
    _allowed: ClassVar[Choices] = {"family": ("ssdeep",), "eliminate_runs": (True, False), "truncate": (True, False)}
    _flags: ClassVar[Flags] = {"elimseq": ("eliminate_runs", True), "notrunc": ("truncate", False)}
    _form = "[html+lines+space|]ssdeep[:elimseq][:notrunc][:common:LENGTH], each once"
    _hash, _hash_files = staticmethod(hash), staticmethod(hash_files)

    normalize: tuple[str, ...]
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
                raise bad_parameter("recipe", text, self._form)
            common = {"least_common": int(length)}
            del flags[at : at + 2]
        slots = self._parse_flags(text, flags)
        if len(before) > 1:
            raise bad_parameter("recipe", text, self._form)
        steps = [step.strip() for step in before[0].split("+")] if before else []
        if len(set(steps)) != len(steps):
            raise bad_parameter("recipe", text, "each step of normalisation once")
        self._fill({"normalize": steps, "family": family, **slots, **common})

    def _fill(self, slots: dict[str, object]) -> None:
        slots = {**self._defaults, **slots}
        slots["normalize"] = check_steps(slots["normalize"])
        slots["least_common"] = check_least_common(slots["least_common"])
        super()._fill(slots)

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part, incremented when its values change."""
        return {"recipe": 1, "normalize": 1, self.family: 1}

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
        flags = self._set_flags()
        if self.least_common != LEAST_COMMON:
            flags += ["common", str(self.least_common)]
        return "|".join([*(["+".join(self.normalize)] if self.normalize else []), ":".join(flags)])
