"""What requests get back, in the form in which they asked: JSON, NDJSON or Arrow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from nearkin.index.ids import Id
from nearkin.service.bodies import ARROW, JSON
from nearkin.service.errors import MEDIA_TYPE, Problem
from nearkin.store.results import CheckResult, StoredDocument, StoredMatch, StoreStats

encode = msgspec.json.Encoder().encode
Row = dict[str, Any]


@dataclass
class Reply:
    """A whole answer."""

    body: bytes
    status: int = 200
    media_type: bytes = JSON.encode()
    headers: Mapping[bytes, bytes] = field(default_factory=dict)


def json_reply(value: object, status: int = 200) -> Reply:
    """A value as JSON."""
    return Reply(encode(value), status)


def problem_reply(problem: Problem, instance: str | None) -> Reply:
    """A problem as its own kind of JSON."""
    return Reply(problem.body(instance), problem.status, MEDIA_TYPE, problem.headers)


def number(value: float) -> float | None:
    """A number as JSON has it: null for NaN."""
    return None if math.isnan(value) else value


@dataclass
class Outcome:
    """What the store said of the documents of one request.

    Attributes
    ----------
    answers : CheckResult
    problems : dict of int to Problem
        Those of single documents, which were not added.
    """

    answers: CheckResult
    problems: dict[int, Problem]

    def rows(self, ids: Sequence[Id] | None) -> list[Row]:
        """An answer for each document, or its problem; `ids` are those of its documents, if they had any."""
        answers = self.answers
        own = answers.own_ids if answers.own_ids is not None else ids
        found: list[Row] = []
        cells = zip(answers.status, answers.ids, answers.distances.tolist(), answers.similarities.tolist(), strict=True)
        for at, (status, match, distance, similarity) in enumerate(cells):
            row: Row = {} if own is None else {"id": own[at]}
            row |= {"status": status, "match": match, "distance": distance, "similarity": number(similarity)}
            if answers.matches is not None:
                row["matches"] = [match_row(one) for one in answers.matches[at]]
            found.append(row)
        for at, problem in self.problems.items():
            found[at] = {"error": problem.members()} | ({} if ids is None else {"id": ids[at]})
        return found


def match_row(one: StoredMatch) -> Row:
    """A stored document that matches."""
    return {"id": one.id, "distance": one.distance, "similarity": number(one.similarity), "columns": one.columns}


def document_row(one: StoredDocument) -> Row:
    """What a store knows of a document."""
    names = ("id", "row", "status", "match", "distance", "similarity", "features", "length", "columns")
    return {name: getattr(one, name) for name in names} | {"similarity": number(one.similarity)}


def stats_row(stats: StoreStats) -> Row:
    """What a store holds."""
    return {name: getattr(stats, name) for name in ("documents", "waiting", "segments", "removed", "bytes", "settings")}


def answers_reply(outcome: Outcome, ids: Sequence[Id] | None, *, single: bool) -> Reply:
    """Answers as JSON: one alone, or a batch."""
    rows = outcome.rows(ids)
    return json_reply(rows[0] if single else {"answers": rows, "verified": outcome.answers.verified})


def matches_reply(results: Sequence[Sequence[StoredMatch]]) -> Reply:
    """Matches as an Arrow stream, a row each: the number of the query, id, distance, similarity, columns as JSON."""
    rows = [(number, one) for number, matches in enumerate(results) for one in matches]
    numbered = bool(rows) and isinstance(rows[0][1].id, int)
    table = pa.table(
        {
            "query": pa.array([number for number, _ in rows], pa.int64()),
            "id": pa.array([one.id for _, one in rows], pa.int64() if numbered else pa.string()),
            "distance": pa.array([float(one.distance) for _, one in rows], pa.float64()),
            "similarity": pa.array([one.similarity for _, one in rows], pa.float64()),
            "columns": pa.array([encode(one.columns).decode() for _, one in rows], pa.string()),
        }
    )
    return _arrow(table)


def arrow_reply(outcome: Outcome, ids: Sequence[Id] | None) -> Reply:
    """Answers as an Arrow stream: id where there is one, status, match, distance, similarity."""
    answers = outcome.answers
    own = answers.own_ids if answers.own_ids is not None else ids
    columns: dict[str, Any] = {} if own is None else {"id": pa.array(own)}
    matches = [one for one in answers.ids if one is not None]
    kind = pa.int64() if matches and isinstance(matches[0], int) else pa.string()
    columns |= {
        "status": pa.array(answers.status, pa.string()),
        "match": pa.array(answers.ids, kind),
        "distance": pa.array(answers.distances),
        "similarity": pa.array(answers.similarities),
    }
    return _arrow(pa.table(columns).replace_schema_metadata({"verified": answers.verified}))


def _arrow(table: pa.Table) -> Reply:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return Reply(sink.getvalue().to_pybytes(), media_type=ARROW.encode())
