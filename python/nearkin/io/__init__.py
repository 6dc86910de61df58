"""Reading a corpus in batches, looking rows up again, and writing output that is whole or absent.

`docs/io.md` says what each format means and what counts as a record that can't be read.
"""

from __future__ import annotations

from nearkin.io.base import Corpus
from nearkin.io.corpus import open_corpus
from nearkin.io.output import OutputDir, replace_file
from nearkin.io.table_files import read_table
from nearkin.io.tables import table_name, write_table
from nearkin.io.values import BadRecord, Batch, Column, Malformed, PackedTexts

__all__ = [
    "BadRecord",
    "Batch",
    "Column",
    "Corpus",
    "Malformed",
    "OutputDir",
    "PackedTexts",
    "open_corpus",
    "read_table",
    "replace_file",
    "table_name",
    "write_table",
]
