"""Base of the recipes of fuzzy digests: a family with flags, which are arguments of its hash functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, overload

from nearkin.digests.inputs import Data, OnError, Paths
from nearkin.errors import bad_parameter
from nearkin.progress import ShowProgress
from nearkin.recipe.base import FrozenRecipe

if TYPE_CHECKING:
    from typing_extensions import Self

Digest: TypeAlias = "str | bytes"
Choices: TypeAlias = "Mapping[str, tuple[object, ...]]"
"""The values of each slot."""
Flags: TypeAlias = "Mapping[str, tuple[str, object]]"
"""Slot and value of each flag of a text form."""


class FuzzyRecipe(FrozenRecipe):
    """A recipe of fuzzy digests of one family. A subclass names its slots, flags and hash functions.

    Attributes
    ----------
    family : str
        Name of the family, which is also the text form of the default recipe.
    """

    _allowed: ClassVar[Choices]
    _flags: ClassVar[Flags]
    _form: ClassVar[str]
    """The text form, as errors show it."""
    _hash: ClassVar[Callable[..., str]]
    _hash_files: ClassVar[Callable[..., Any]]

    family: str

    def __init__(self, text: object = "") -> None:
        raise NotImplementedError

    def _parse_flags(self, text: str, flags: list[str]) -> dict[str, object]:
        """Return the slots that the flags of a text form set."""
        if any(flag not in self._flags or flags.count(flag) > 1 for flag in flags):
            raise bad_parameter("recipe", text, self._form)
        return dict(self._flags[flag] for flag in flags)

    def _set_flags(self) -> list[str]:
        """Return the family, and the flags that are set."""
        flags = (flag for flag, (name, value) in self._flags.items() if getattr(self, name) == value)
        return [self.family, *flags]

    def _fill(self, slots: dict[str, object]) -> None:
        slots = {**self._defaults, **slots}
        for name, allowed in self._allowed.items():
            if not any(slots[name] == value and type(slots[name]) is type(value) for value in allowed):
                raise bad_parameter(name, repr(slots[name]), " or ".join(map(str, allowed)))
        self.__dict__.update(slots)

    @classmethod
    def of(cls, recipe: Self | str | None) -> Self:
        """Convert a text form to a recipe; None is the default recipe.

        Parameters
        ----------
        recipe : recipe of this class, str or None
            A recipe, its text form, or None.
        """
        return recipe if isinstance(recipe, cls) else cls() if recipe is None else cls(recipe)

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part, incremented when its values change."""
        return {"recipe": 1, self.family: 1}

    @property
    def flags(self) -> dict[str, Any]:
        """Keyword arguments of the hash functions of the family: all slots but those of comparisons."""
        return {name: getattr(self, name) for name in self._defaults if name not in ("family", *self._omitted)}

    def hash(self, data: Data) -> str:
        """Compute the digest of bytes, of a file or of a stream by the function `hash` of the family.

        Parameters
        ----------
        data : bytes-like, str, os.PathLike or binary file-like
            As for `nearkin.ssdeep.hash` or `nearkin.tlsh.hash`.
        """
        return type(self)._hash(data, **self.flags)

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
        """Compute the digests of many files by the function `hash_files` of the family.

        Parameters
        ----------
        paths, on_error, progress
            As for `nearkin.ssdeep.hash_files` or `nearkin.tlsh.hash_files`.
        """
        digests: list[str] = type(self)._hash_files(paths, on_error=on_error, progress=progress, **self.flags)
        return digests
