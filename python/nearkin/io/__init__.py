"""Read corpora in batches, look up rows, and write output that is complete or absent.

`docs/io.md` describes the formats and what makes a record malformed.
"""

from __future__ import annotations

from nearkin.io.base import Corpus
from nearkin.io.corpus import open_corpus
from nearkin.io.output import OutputDir, replace_file
from nearkin.io.tables import read_table, table_name, write_table
from nearkin.io.values import BadRecord, Batch, Column, MalformedRecords, PackedTexts

__all__ = [
    "BadRecord",
    "Batch",
    "Column",
    "Corpus",
    "MalformedRecords",
    "OutputDir",
    "PackedTexts",
    "open_corpus",
    "read_table",
    "replace_file",
    "table_name",
    "write_table",
]
