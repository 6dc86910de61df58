"""Rows that are written with another text: the record is written anew, all others are copied as they came.

Of a record of CSV all other fields stay byte for byte. A JSON record is written anew by Python's `json`: its values
stay, in their order, its spacing and escapes may change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.io.nested import heads_of


@dataclass(frozen=True)
class Changes:
    """Texts that take the place of those that were read.

    Attributes
    ----------
    rows : (n,) int64
        Rows with another text, ascending.
    texts : function
        Gives the new texts of some of these rows, ascending.
    """

    rows: NDArray[np.int64]
    texts: Callable[[NDArray[np.int64]], Iterable[str]]

    def among(self, mask: NDArray[np.bool_], first: int) -> dict[int, str]:
        """The new texts of those rows from `first` on that a mask has, by their number in the mask."""
        rows = np.flatnonzero(mask)
        return {int(rows[at]): text for at, text in self.chosen(rows + first).items()}

    def chosen(self, rows: NDArray[np.int64]) -> dict[int, str]:
        """The new texts of some ascending rows, by their number among these."""
        there = np.flatnonzero(np.isin(rows, self.rows, assume_unique=True))
        return dict(zip(there.tolist(), self.texts(rows[there]), strict=True)) if len(there) else {}


def ending_of(record: bytes) -> bytes:
    """The line end of a record, if it has one."""
    return b"\r\n" if record.endswith(b"\r\n") else b"\n" if record.endswith(b"\n") else b""


def json_record(record: bytes, column: str, text: str) -> bytes:
    r"""A JSON record with another text.

    Parameters
    ----------
    record : bytes
        With its line end.
    column : str
        The column of the text, or its path.
    text : str

    Examples
    --------
    >>> from nearkin.io.changes import json_record
    >>> json_record(b'{"id":1, "meta":{"body":"a b"}}\n', "meta.body", "b")
    b'{"id": 1, "meta": {"body": "b"}}\n'
    """
    value = json.loads(record)
    _put(value, column, text)
    try:
        written = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Half a character, which stands in the record as an escape.
        written = json.dumps(value).encode()
    return written + ending_of(record)


def _put(value: dict[str, Any], column: str, text: str) -> bool:
    if column in value:
        value[column] = text
        return True
    inner = ((value.get(head), column[len(head) + 1 :]) for head in heads_of(column))
    return any(isinstance(one, dict) and _put(one, rest, text) for one, rest in inner)


def csv_record(record: bytes, field: int, delimiter: int, text: str) -> bytes:
    r"""A record of CSV with another text.

    Parameters
    ----------
    record : bytes
        With its line end.
    field : int
        Number of the field, from 0.
    delimiter : int
        A byte.
    text : str

    Examples
    --------
    >>> from nearkin.io.changes import csv_record
    >>> csv_record(b'1,"a, b",c\r\n', 1, ord(","), "b, c")
    b'1,"b, c",c\r\n'
    """
    ending = ending_of(record)
    sign = re.escape(bytes([delimiter]))
    fields = re.compile(rb'("(?:[^"]|"")*"|[^%s]*)(%s|$)' % (sign, sign), re.DOTALL)
    body = record[: len(record) - len(ending)]
    at = 0
    for _ in range(field):
        found = fields.match(body, at)
        at = found.end() if found else at
    found = fields.match(body, at)
    end = found.end(1) if found else len(body)
    written = text.encode()
    if written.startswith(b'"') or any(byte in written for byte in (bytes([delimiter]), b"\n", b"\r")):
        written = b'"' + written.replace(b'"', b'""') + b'"'
    return body[:at] + written + body[end:] + ending


def line_record(record: bytes, text: str) -> bytes:
    """A line with another text, which has no line end."""
    return text.encode() + ending_of(record)
