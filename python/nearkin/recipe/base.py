"""What every recipe is: a frozen value with named slots, a text form, a JSON form, and a digest of that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import ClassVar, TypeVar

from nearkin.errors import MismatchError, bad_parameter, mismatch
from nearkin.notebook import html_facts

__all__ = ["FrozenRecipe"]

_R = TypeVar("_R", bound="FrozenRecipe")


class FrozenRecipe:
    """Slots that are filled once. A subclass names them with their defaults, and fills and checks them in `_fill`.

    Slots that have not been checked yet, from a text or a user, are a `dict[str, object]`.
    """

    _defaults: ClassVar[Mapping[str, object]]
    _unwritten: ClassVar[tuple[str, ...]] = ()
    """Slots that the JSON form leaves out at their default."""

    @classmethod
    def _slots_of(cls, family: object) -> Mapping[str, object]:
        """The slots of a family with their defaults; all slots where a recipe has one family."""
        return cls._defaults

    def _names(self) -> tuple[str, ...]:
        return tuple(self._slots_of(getattr(self, "family", None)))

    def _fill(self, slots: dict[str, object]) -> None:
        raise NotImplementedError

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part: raised when its values change."""
        raise NotImplementedError

    @classmethod
    def _of_slots(cls: type[_R], slots: dict[str, object]) -> _R:
        recipe = cls.__new__(cls)
        recipe._fill(slots)
        return recipe

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a recipe is frozen; recipe.with_({name}=...) gives another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a recipe is frozen; slot {name} can't be deleted")

    @classmethod
    def from_json(cls: type[_R], text: str) -> _R:
        """The recipe of a JSON form.

        Raises
        ------
        MismatchError
            If the form was written by another version of the rules.
        ParameterError
            If it is not the JSON form of a recipe.
        """
        return cls._of_json(text)

    @classmethod
    def _of_json(cls: type[_R], text: str, revive: Callable[[dict[str, object]], dict[str, object]] = dict) -> _R:
        """The recipe of a JSON form; `revive` gives the slots that the form names by digest only."""
        try:
            slots = json.loads(text)
            versions = slots.pop("versions")
            known = cls._slots_of(slots.get("family"))
            found = {name: slots.pop(name) for name in known if name in slots or name not in cls._unwritten}
            recipe = cls._of_slots(revive(found))
        except MismatchError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise bad_parameter("recipe", f"JSON with {error!r}", "the text of Recipe.to_json()") from error
        if versions != recipe.versions:
            raise mismatch("versions of the recipe", versions, recipe.versions)
        if slots:
            raise bad_parameter("recipe", f"slot {sorted(slots)[0]}", "the slots " + ", ".join(recipe._names()))
        return recipe

    def to_json(self) -> str:
        """The slots and the version of each part, as JSON with sorted keys; younger slots unless at their default."""
        slots = {name: self._slot(name) for name in self._names()}
        for name in self._unwritten:
            if slots[name] == self._defaults[name]:
                del slots[name]
        return json.dumps(
            {**slots, "versions": self.versions}, sort_keys=True, ensure_ascii=False, separators=(",", ":")
        )

    @cached_property
    def digest(self) -> str:
        """First 16 hexadecimal digits of SHA-256 of the JSON form."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def with_(self: _R, **slots: object) -> _R:
        """The recipe with other values in the slots named: `recipe.with_(bits=64)`."""
        allowed = self._slots_of(slots.get("family", getattr(self, "family", None)))
        unknown = sorted(set(slots) - set(allowed))
        if unknown:
            raise bad_parameter("slot", unknown[0], "one of " + ", ".join(allowed))
        held = {name: getattr(self, name) for name in self._names() if name in allowed}
        return self._of_slots({**held, **slots})

    def check_same(self: _R, other: _R) -> None:
        """Raise MismatchError naming the first slot in which `other` differs."""
        for name in sorted((*self._names(), "versions"), key=lambda name: name != "family"):
            left, right = (
                (self.versions, other.versions) if name == "versions" else (self._slot(name), other._slot(name))
            )
            if left != right:
                raise mismatch(f"recipe slot {name}", left, right)

    def _slot(self, name: str) -> object:
        """The value of a slot as it is compared and written."""
        value: object = getattr(self, name)
        return value

    def _repr_html_(self) -> str:
        """The slots and their values, for a notebook."""
        return html_facts([("recipe", str(self)), *((name, self._slot(name)) for name in self._names())])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Callable[..., FrozenRecipe], tuple[object, ...]]:
        return (type(self).from_json, (self.to_json(),))
