"""A store as a server of the Model Context Protocol, for agents: `nearkin mcp STORE`.

The protocol runs over standard input and output; the client starts the process. Tools:

| tool | purpose |
|---|---|
| `check` | compare texts with the store: is this known? |
| `check_and_add` | the same, and add them; not with `readonly` |
| `search` | the stored documents nearest to a text, also below the threshold |
| `explain` | what differs between a text and a stored document, or another text |

A failed call is a result with `is_error` whose text begins with the class of the error (`nearkin.errors`), so that an
agent can tell a wrong argument from a full disk. It needs the extra `mcp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from nearkin._core import __version__
from nearkin.dedup.verify import similarity
from nearkin.errors import (
    InputError,
    MismatchError,
    NearkinError,
    ParameterError,
    bad_parameter,
    excerpt,
    require_extra,
)
from nearkin.explain.comparison import compare
from nearkin.families.minhash import signature
from nearkin.families.simhash import fingerprint
from nearkin.recipe import Recipe
from nearkin.store.results import CheckResult

with require_extra("mcp", "nearkin.mcp"):
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp.types import ToolAnnotations
    from pydantic import Field

if TYPE_CHECKING:
    from nearkin.service.client import Client
    from nearkin.store.store import Store

    AnyStore: TypeAlias = "Store | Client"

__all__ = ["build_server"]

_MAX_TEXTS = 1000
_MAX_MATCHES = 100
_EXCERPT = 200
"""Characters of a stored text in a result."""

Id: TypeAlias = int | str
Texts = Annotated[list[str], Field(min_length=1, max_length=_MAX_TEXTS, description="The complete texts.")]
Count = Annotated[int, Field(ge=1, le=_MAX_MATCHES, description="Maximum number of matches of a text.")]


@dataclass(frozen=True)
class TextMatch:
    """A stored document.

    Attributes
    ----------
    id : int or str
    similarity : float, optional
        Jaccard similarity of the texts; None if the store has no texts.
    distance : float
        Hamming distance of fingerprints, or number of different values of signatures.
    text : str, optional
        The beginning of its text.
    """

    id: int | str
    similarity: float | None
    distance: float
    text: str | None


@dataclass(frozen=True)
class Checked:
    """What a store knows of a text.

    Attributes
    ----------
    status : str
        "new"; "exact", "same-letters" or "near" for a copy or near-duplicate of a stored document; "known" for one that
        is stored under this id; "empty" for a text that the store does not take.
    id : int or str, optional
        Id under which the text was added.
    matches : list of TextMatch
        Most similar first; empty for a new text.
    """

    status: str
    id: int | str | None
    matches: list[TextMatch]


@dataclass(frozen=True)
class Explanation:
    """Why two texts match or not.

    Attributes
    ----------
    similarity : float
        Jaccard similarity of their features.
    threshold : float
        From which the store's texts match.
    is_duplicate : bool
    differences : str
        Edits, and the features that only one of them has; the bits are those of a SimHash of the same features.
    """

    similarity: float
    threshold: float
    is_duplicate: bool
    differences: str


def build_server(store: AnyStore, *, readonly: bool = False) -> MCPServer[Any]:
    """Return a server of a store; its `run()` serves standard input and output until the client closes them.

    Parameters
    ----------
    store : Store or Client
        Of texts.
    readonly : bool, default False
        Leave out the tool `check_and_add`.

    Raises
    ------
    ParameterError
        A store of files or vectors.
    """
    settings = store.stats().settings
    try:
        recipe = Recipe.of(settings["recipe"])
    except NearkinError:
        raise bad_parameter("store", f"one of {settings['recipe']}", "a store of texts") from None
    tools = _Tools(store, recipe, float(settings["threshold"]))
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    adds = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    return MCPServer(
        "nearkin",
        tools=[
            *(_strict(tool, reads) for tool in (tools.check, tools.search, tools.explain)),
            *([] if readonly else [_strict(tools.check_and_add, adds)]),
        ],
        title="Near-duplicates of texts",
        version=__version__,
        log_level="WARNING",
        instructions=(
            "Finds texts that are almost the same as stored ones: copies, edits, reposts. It compares wording, not "
            f"meaning. Two texts match from a similarity of {settings['threshold']} (Jaccard, of their features)."
        ),
    )


def _strict(function: Callable[..., Any], annotations: ToolAnnotations) -> Tool:
    """Return a tool that refuses unknown arguments, which the SDK ignores."""
    tool = Tool.from_function(function, annotations=annotations)
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool


@contextmanager
def _typed_errors() -> Iterator[None]:
    """Turn an expected error into one whose text the agent sees, with its class."""
    try:
        yield
    except (NearkinError, OSError) as error:
        raise ToolError(f"{type(error).__name__}: {error}") from error


class _Tools:
    """The tools of a store; their docstrings are what an agent reads."""

    def __init__(self, store: AnyStore, recipe: Recipe, threshold: float) -> None:
        self._store, self._recipe, self._threshold = store, recipe, threshold

    def check(self, texts: Texts, k: Count = 3) -> list[Checked]:
        """Compare texts with the store, without adding them: which are new, and what do the others duplicate."""
        with _typed_errors():
            return self._checked(self._store.check(texts, k=k))

    def check_and_add(
        self,
        texts: Texts,
        ids: Annotated[
            list[Id] | None,
            Field(
                description="An id for each text, all strings or all integers; row numbers if left out, or hashes "
                "of the texts in a store with string ids."
            ),
        ] = None,
    ) -> list[Checked]:
        """Compare texts with the store and with one another, and add them all in one step.

        Adding a text again under its id changes nothing. An id that has another text is an error, and nothing is added.
        """
        with _typed_errors():
            if ids is not None and len(ids) != len(texts):
                raise bad_parameter("ids", f"{len(ids)} ids", f"one for each of {len(texts)} texts")
            try:
                return self._checked(self._store.check_and_add(texts, ids))
            except MismatchError as error:
                if ids is not None or error.what != "kind of ids":
                    raise
            # The same text has the same id, so adding it again changes nothing.
            hashes = [sha256(text.encode()).hexdigest()[:32] for text in texts]
            return self._checked(self._store.check_and_add(texts, hashes))

    def search(
        self,
        text: Annotated[str, Field(description="A complete text, not keywords.")],
        k: Count = 10,
    ) -> list[TextMatch]:
        """Find the stored documents whose wording is nearest to a text, including those below the threshold."""
        with _typed_errors():
            function: Callable[..., Any] = signature if self._recipe.family == "minhash" else fingerprint
            values, counts = function([text], self._recipe, return_counts=True)
            if not counts[0]:
                reason = "the text has no features: no letter or digit, or too few of them"
                raise InputError(f"text: {reason}", place="text", reason=reason)
            found = self._store.search(values, k=k)[0]
            stored = self._texts([match.id for match in found])
            similarities: list[float | None] = [None] * len(found)
            if None not in stored and found:
                compared = similarity([text, *stored], [0] * len(found), range(1, len(found) + 1), recipe=self._recipe)
                similarities = [float(value) for value in compared]
            rows = zip(found, similarities, stored, strict=True)
            matches = [TextMatch(match.id, score, float(match.distance), _shorten(text)) for match, score, text in rows]
            return sorted(matches, key=lambda match: -(match.similarity or 0.0))

    def explain(
        self,
        text: Annotated[str, Field(description="A complete text.")],
        id: Annotated[Id | None, Field(description="Id of a stored document to compare with.")] = None,
        other: Annotated[str | None, Field(description="A text to compare with, instead of a document.")] = None,
    ) -> Explanation:
        """Explain why a text is or is not a near-duplicate of a stored document or another text: what differs."""
        with _typed_errors():
            if (id is None) == (other is None):
                raise bad_parameter("id", f"{id!r} with other={other!r}", "an id or another text, one of them")
            if id is not None:
                try:
                    (other,) = self._store.texts([id])
                except ParameterError:
                    raise bad_parameter("id", repr(id), "an id that check or search returned") from None
            if other is None:
                reason = "was not new when it was added, so the store has no text of it; use the id of its match"
                raise InputError(f"id {id!r}: {reason}", place=f"id {id!r}", reason=reason)
            score = float(similarity([text, other], [0], [1], recipe=self._recipe)[0])
            same_features = self._recipe if self._recipe.family == "simhash" else self._recipe.with_family("simhash")
            differences = str(compare(text, other, same_features))
            return Explanation(score, self._threshold, score >= self._threshold, differences)

    def _checked(self, result: CheckResult) -> list[Checked]:
        """Convert a result, with all matches of a check and the deciding one of an addition."""
        own: list[Any] = result.own_ids or [None] * len(result)
        rows: list[list[tuple[Any, float, float]]]
        if result.matches is not None:
            rows = [
                [(match.id, match.similarity, match.distance) for match in matches] if status != "new" else []
                for matches, status in zip(result.matches, result.status, strict=True)
            ]
        else:
            cells = zip(result.ids, result.similarities.tolist(), result.distances.tolist(), strict=True)
            rows = [[] if id is None else [(id, score, distance)] for id, score, distance in cells]
        texts = iter(self._texts([id for row in rows for id, _, _ in row]))
        return [
            Checked(
                status,
                id,
                [
                    TextMatch(match, None if math.isnan(score) else score, float(distance), _shorten(next(texts)))
                    for match, score, distance in row
                ],
            )
            for status, id, row in zip(result.status, own, rows, strict=True)
        ]

    def _texts(self, ids: list[Any]) -> list[str | None]:
        """Return stored texts; None for all if the store keeps none."""
        try:
            return self._store.texts(ids)
        except MismatchError:
            return [None] * len(ids)


def _shorten(text: str | None) -> str | None:
    return None if text is None else excerpt(text, _EXCERPT)
