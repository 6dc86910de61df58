"""Base class of recipes: frozen values with named slots, a text form, a JSON form and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import ClassVar, TypeVar

from nearkin.errors import MismatchError, bad_parameter, mismatch, unique_members
from nearkin.notebook import html_facts

_R = TypeVar("_R", bound="FrozenRecipe")


class FrozenRecipe:
    """A value with slots that are set once. A subclass lists them with their defaults and checks them in `_fill`.

    Unchecked slots, from a text form or from a user, are a `dict[str, object]`.
    """

    _defaults: ClassVar[Mapping[str, object]]
    _omitted: ClassVar[tuple[str, ...]] = ()
    """Slots that the JSON form omits at their default."""

    @classmethod
    def _slots_for(cls, family: object) -> Mapping[str, object]:
        """Return the slots of a family with their defaults; all slots if a recipe has a single family."""
        return cls._defaults

    def _names(self) -> tuple[str, ...]:
        return tuple(self._slots_for(getattr(self, "family", None)))

    def _fill(self, slots: dict[str, object]) -> None:
        raise NotImplementedError

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part, which is incremented when its values change."""
        raise NotImplementedError

    @classmethod
    def _from_slots(cls: type[_R], slots: dict[str, object]) -> _R:
        recipe = cls.__new__(cls)
        recipe._fill(slots)
        return recipe

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a recipe is frozen; recipe.with_({name}=...) gives another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a recipe is frozen; slot {name} can't be deleted")

    @classmethod
    def from_json(cls: type[_R], text: str) -> _R:
        """Parse a JSON form.

        Raises
        ------
        MismatchError
            Another version of the rules wrote the form.
        ParameterError
            The text is not the JSON form of a recipe.
        """
        return cls._parse_json(text)

    @classmethod
    def _parse_json(cls: type[_R], text: str, restore: Callable[[dict[str, object]], dict[str, object]] = dict) -> _R:
        """Parse a JSON form; `restore` replaces digests by the values that the caller passes separately."""
        try:
            slots = json.loads(text, object_pairs_hook=unique_members)
            versions = slots.pop("versions")
            names = cls._slots_for(slots.get("family"))
            values = {name: slots.pop(name) for name in names if name in slots or name not in cls._omitted}
            recipe = cls._from_slots(restore(values))
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
        """Return slots and versions as JSON with sorted keys; slots added later are omitted at their default."""
        omitted = {name: self._defaults[name] for name in self._omitted}
        slots = {name: self._slot(name) for name in self._names()}
        form = {name: slot for name, slot in slots.items() if name not in omitted or slot != omitted[name]}
        form["versions"] = self.versions
        return json.dumps(form, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def digest(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of the JSON form."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def with_(self: _R, **slots: object) -> _R:
        """Return a copy with other values in the named slots: `recipe.with_(bits=64)`."""
        allowed = self._slots_for(slots.get("family", getattr(self, "family", None)))
        unknown = sorted(set(slots) - set(allowed))
        if unknown:
            raise bad_parameter("slot", unknown[0], "one of " + ", ".join(allowed))
        current = {name: getattr(self, name) for name in self._names() if name in allowed}
        return self._from_slots({**current, **slots})

    def check_same(self: _R, other: _R) -> None:
        """Raise MismatchError with the first slot in which `other` differs."""
        for name in sorted((*self._names(), "versions"), key=lambda name: name != "family"):
            left, right = (each.versions if name == "versions" else each._slot(name) for each in (self, other))
            if left != right:
                raise mismatch(f"recipe slot {name}", left, right)

    def _slot(self, name: str) -> object:
        """Return the value of a slot as it is compared and serialised."""
        value: object = getattr(self, name)
        return value

    def _repr_html_(self) -> str:
        """Return the slots and their values for a notebook."""
        return html_facts([("recipe", str(self)), *((name, self._slot(name)) for name in self._names())])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Callable[..., FrozenRecipe], tuple[object, ...]]:
        return (type(self).from_json, (self.to_json(),))
