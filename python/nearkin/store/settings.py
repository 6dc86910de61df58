"""What a store is made for. It is decided once, at creation, and written into every file of the store.

`StoreSettings` is what the store asks of it, whatever it holds; `TextSettings` is a store of texts. `files` and
`vectors` have those of other stores; `kinds` makes and reads all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, get_args

import numpy as np

from nearkin.dedup.candidates import RECALL, CandidateSource, MinHashCandidates, SimHashCandidates
from nearkin.dedup.cluster import MAX_COMPARISONS
from nearkin.dedup.distinguishers import differ_rules
from nearkin.dedup.documents import HashedDocuments, hash_texts
from nearkin.dedup.stages import Featureless
from nearkin.dedup.summary import promised
from nearkin.dedup.texts import THRESHOLD
from nearkin.dedup.verify import TextComparison
from nearkin.errors import CorruptStoreError, bad_parameter, mismatch
from nearkin.io import Corpus
from nearkin.progress import Progress, unreported
from nearkin.recipe import Recipe

if TYPE_CHECKING:
    from nearkin.families.base import Family
    from nearkin.recipe.base import FrozenRecipe

TextRule = Literal["keep", "features", "none"]
"""What a store keeps of the texts of new documents."""
StoreVerify = Literal["jaccard", "containment", "indel", "signature", "none"]
"""How a store verifies candidates."""

FileKind = Literal["digests", "bytes", "paths"]
"""What is given to a store of files."""
Kind = Literal["texts", "vectors"] | FileKind
"""What is given to a store."""

FAMILY_FILE = "family.nks"
"""The hash functions of a store of vectors."""
VERSION = 1
"""Version of the folder: raised when an older nearkin could misread it."""


class StoreSettings(Protocol):
    """What a store is made for, whatever it holds."""

    noun: ClassVar[str]
    """What a document of the store is: "text", "file" or "vector"."""
    distance_type: ClassVar[type]
    """Type of distances."""

    @property
    def recipe(self) -> FrozenRecipe | Family:
        """How a document is hashed."""

    @property
    def threshold(self) -> float:
        """Smallest similarity of a match, inclusive."""

    @property
    def radius(self) -> int | None:
        """Largest Hamming distance of a candidate, where it was given."""

    @property
    def recall(self) -> float | None:
        """Wanted probability that a pair at the threshold is found, where it is below 1."""

    @property
    def text(self) -> TextRule:
        """What is kept of texts."""

    @property
    def verify(self) -> str:
        """How candidates are verified."""

    @property
    def verified_by(self) -> str:
        """The same in words."""

    @property
    def differ(self) -> tuple[str, ...]:
        """Rules by which documents that are alike differ, and are no matches."""

    @property
    def featureless(self) -> Featureless:
        """Whether equal documents without features are copies."""

    @property
    def comparison(self) -> TextComparison | None:
        """How texts verify candidates; None where they don't."""

    @property
    def source(self) -> CandidateSource:
        """The family."""

    @property
    def needs_texts(self) -> bool:
        """Whether the caller has to give texts, which are not kept, to verify matches."""

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Raise MismatchError for a measure, or rules of `differ`, that what is kept of texts does not allow."""

    def tell_skipped(self, skipped: int) -> str:
        """The warning of a batch of which something was skipped: what, and by which bound."""

    def hash(self, items: Any, kind: Kind | None, report: Progress = unreported) -> HashedDocuments:
        """What is given, hashed; its ids where it has some."""

    def about(self) -> dict[str, Any]:
        """All settings by name."""

    def to_json(self) -> str:
        """All settings, as JSON with sorted keys."""

    def save_files(self, folder: Path) -> None:
        """Write what else is needed into a new store."""


def comparisons_left_out(skipped: int) -> str:
    """The warning of a batch in which documents had more candidates than one is compared with."""
    bound = f"more than {MAX_COMPARISONS:,} candidates, or with Indel more than 2**39 pairs of characters"
    return f"{skipped:,} comparisons were left out: some documents have {bound}"


@dataclass(frozen=True)
class TextSettings:
    """What a store of texts is made for.

    Parameters
    ----------
    recipe : Recipe
        How a text becomes a fingerprint or signature.
    threshold : float
        Smallest similarity of a match, inclusive, above 0 and up to 1.
    radius : int, optional
        Largest Hamming distance of a candidate; None derives it from threshold and recall. With simhash.
    recall : float, optional
        Wanted probability that a pair at the threshold is found; 0.995 for None with simhash, 0.95 with minhash.
    text : {"keep", "features", "none"}
        What is kept of the texts of new documents (`nearkin.store.texts`).
    verify : {"jaccard", "containment", "indel", "signature", "none"}
        How candidates are verified; "signature" with minhash. By texts that are not kept: the caller gives them.
    differ : tuple of str
        Rules by which texts that are alike differ (`nearkin.dedup.distinguishers`); with a comparison of texts.
    featureless : {"collapse", "keep"}
        Whether equal texts without features are copies.

    Raises
    ------
    ParameterError
        For values out of range, or that exclude one another.
    """

    recipe: Recipe
    threshold: float = THRESHOLD
    radius: int | None = None
    recall: float | None = None
    text: TextRule = "keep"
    verify: StoreVerify = "jaccard"
    differ: tuple[str, ...] = ()
    featureless: Featureless = "collapse"
    source: SimHashCandidates | MinHashCandidates = field(init=False, compare=False, repr=False)
    noun: ClassVar[str] = "text"
    distance_type: ClassVar[type] = np.int64

    def __post_init__(self) -> None:
        for name, rule in {"text": TextRule, "verify": StoreVerify, "featureless": Featureless}.items():
            if getattr(self, name) not in get_args(rule):
                raise bad_parameter(name, repr(getattr(self, name)), ", ".join(get_args(rule)))
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if not number or not 0 < self.threshold <= 1:
            raise bad_parameter("threshold", repr(self.threshold), "a similarity above 0 and up to 1")
        if self.recipe.features == "given":
            raise bad_parameter("recipe", self.recipe, "a recipe with char:N or word:N features, which reads texts")
        minhash = self.recipe.family == "minhash"
        if self.verify == "signature" and not minhash:
            raise bad_parameter("verify", "signature", "jaccard, containment, indel or none with simhash")
        if self.text == "features" and self.verify == "indel":
            raise bad_parameter("verify", self.verify, 'jaccard or containment, which compare features, or text="keep"')
        if self.differ and (self.text == "features" or self.verify in ("signature", "none")):
            found = f'text="{self.text}" and verify="{self.verify}"'
            raise bad_parameter("differ", found, 'rules with text="keep", or texts=, and a verification by texts')
        if minhash and self.radius is not None:
            raise bad_parameter("radius", self.radius, "None with minhash, which has no radius; recall= instead")
        source = (
            MinHashCandidates(self.recipe, self.threshold, self.recall, by_share=self.verify == "signature")
            if minhash
            else SimHashCandidates(self.recipe, self.threshold, self.radius, self.recall)
        )
        object.__setattr__(self, "source", source)

    @classmethod
    def make(
        cls,
        recipe: Recipe | str | None,
        threshold: float,
        radius: int | None,
        recall: float | None,
        text: TextRule,
        verify: StoreVerify | None,
        differ: str | Iterable[str] | None = None,
        featureless: Featureless = "collapse",
        *,
        given: bool = False,
    ) -> TextSettings:
        """Settings from what a caller gives; where `verify` is None it follows from the family and what is kept.

        `given` says whether the caller gives texts that are not kept.
        """
        made = Recipe.of(recipe)
        if verify is None:
            exact = text != "none" or given
            verify = "jaccard" if exact else "signature" if made.family == "minhash" else "none"
        if text == "none" and verify not in ("signature", "none") and not given:
            allowed = 'none, or signature with minhash, for a store with text="none"; or give texts=, a function of ids'
            raise bad_parameter("verify", verify, allowed)
        if given and (text != "none" or verify in ("signature", "none")):
            raise bad_parameter("texts", "a function", 'None, unless text="none" and texts verify')
        if made.family == "minhash" and recall is None:
            recall = RECALL
        made_of = cls(made, threshold, radius, recall, text, verify, differ_rules(differ), featureless)
        if isinstance(made_of.source, SimHashCandidates):
            # The radius itself is remembered, so that a later rule for it changes no store.
            return replace(made_of, radius=made_of.source.radius, recall=None)
        return made_of

    @cached_property
    def comparison(self) -> TextComparison | None:
        """How texts verify candidates; None where they don't."""
        if self.verify in ("signature", "none"):
            return None
        return TextComparison(self.recipe, self.verify, self.differ)  # type: ignore[arg-type]  # The others were excluded above.

    @property
    def verified_by(self) -> str:
        """How a match is verified, in words."""
        words = {"signature": "equal values of signatures", "none": "nothing: every candidate is a match"}
        if self.text == "features":
            words |= dict.fromkeys(("jaccard", "containment"), f"{self.verify} of the stored feature hashes")
        by_caller = ", texts given by the caller" if self.text == "none" else ""
        by_caller += f"; they do not differ in {', '.join(self.differ)}" if self.differ else ""
        return words.get(self.verify, f"{self.verify} of the texts' features{by_caller}")

    @property
    def needs_texts(self) -> bool:
        """Whether the caller has to give texts, which are not kept, to verify matches."""
        return self.text == "none" and self.comparison is not None

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Raise MismatchError for a measure, or rules of `differ`, that what is kept of texts does not allow."""
        if self.text == "features" and rules:
            raise mismatch("texts", 'a store with text="features"', f"differ={', '.join(rules)}, which reads texts")
        if verify in ("signature", "none"):
            return
        if self.text == "features" and verify == "indel":
            raise mismatch("texts", 'a store with text="features"', "verification by indel, which compares texts")
        if self.text == "none" and not self.needs_texts:
            raise mismatch("texts", 'a store with text="none"', "a verification by texts")

    def tell_skipped(self, skipped: int) -> str:
        """That comparisons were left out."""
        return comparisons_left_out(skipped)

    def hash(self, items: Any, kind: Kind | None, report: Progress = unreported) -> HashedDocuments:
        """Texts, hashed."""
        if kind not in (None, "texts"):
            raise bad_parameter("kind", repr(kind), '"texts" or None for a store of texts')
        if isinstance(items, (str, bytes)):
            raise bad_parameter("texts", repr(items)[:40], "an iterable of texts; [text] for one")
        if isinstance(items, Corpus):
            raise bad_parameter("texts", "a Corpus", "the texts of its batches, one call each")
        return hash_texts(items, None, self.source, report, {})

    def about(self) -> dict[str, Any]:
        """All settings by name."""
        return {
            "recipe": str(self.recipe),
            "recipe_digest": self.recipe.digest,
            "threshold": self.threshold,
            "text": self.text,
            "verify": self.verify,
            "differ": list(self.differ),
            "featureless": self.featureless,
            **promised(self.source.summary(), self.verify)[0],
        }

    def to_json(self) -> str:
        """All settings, as JSON with sorted keys."""
        settings = {
            "version": VERSION,
            "recipe": json.loads(self.recipe.to_json()),
            "recipe_digest": self.recipe.digest,
            "threshold": self.threshold,
            "radius": self.radius,
            "recall": self.recall,
            "text": self.text,
            "verify": self.verify,
        }
        # Stores that were made before there were these have neither.
        if self.differ:
            settings["differ"] = self.differ
        if self.featureless != "keep":
            settings["featureless"] = self.featureless
        return json.dumps(settings, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def save_files(self, folder: Path) -> None:
        """Nothing."""

    @classmethod
    def of_json(cls, found: Mapping[str, Any], place: str) -> TextSettings:
        """The settings of a JSON form.

        Raises
        ------
        CorruptStoreError
            Its recipe is not the one of its digest.
        MismatchError
            Its recipe is one of another version of the rules.
        """
        slots = {name: found[name] for name in ("threshold", "radius", "recall", "text", "verify")}
        slots |= {"differ": tuple(found.get("differ", ())), "featureless": found.get("featureless", "keep")}
        recipe_text, digest = json.dumps(found["recipe"]), found["recipe_digest"]
        recipe = Recipe.from_json(recipe_text)
        if recipe.digest != digest:
            reason = f"its recipe has the digest {recipe.digest} and not {digest}, as its settings say"
            raise CorruptStoreError(f"{place}: {reason}", place=place, reason=reason)
        return cls(recipe, **slots)
