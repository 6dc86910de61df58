"""A store as a corpus: a JSON object per line, which `nearkin store import` and `nearkin dedup` read.

A line of a text has `id` and `text`; a line of a file `id`, `path` (the same as a string), `digest`, `recipe`,
`content` (the hash of its bytes, 32 hexadecimal digits) and `length`, so that `nearkin ssdeep` reads it, too; one of a
vector `id` and `vector`. Columns follow.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nearkin.errors import bad_parameter
from nearkin.io.decompress import compressing
from nearkin.io.inputs import Compression
from nearkin.io.output import replace_file
from nearkin.progress import ShowProgress, reporting
from nearkin.store.documents import StoredDocument
from nearkin.store.store import Store

_ENDINGS: dict[str, Compression] = {".jsonl": "", ".jsonl.gz": "gz", ".jsonl.zst": "zst"}


def export_corpus(
    store: Store,
    path: str | os.PathLike[str],
    *,
    every: bool = False,
    overwrite: bool = False,
    progress: ShowProgress = None,
) -> int:
    """Write the documents that stay, in the order in which they came; how many.

    Parameters
    ----------
    store : Store
    path : path
        `.jsonl`, `.jsonl.gz` or `.jsonl.zst`; the file takes its place whole, or not at all.
    every : bool, default False
        With documents that did not stay: they have a status, a match, and no text.
    overwrite : bool, default False
        Replace a file that is there.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.

    Raises
    ------
    ParameterError
        Another ending; a file that is there; a column that is named as one of the store's own.
    """
    target = Path(path)
    ending = next((ending for ending in sorted(_ENDINGS, key=len, reverse=True) if target.name.endswith(ending)), None)
    if ending is None:
        raise bad_parameter("out", str(target), "a file that ends in .jsonl, .jsonl.gz or .jsonl.zst")
    if target.exists() and not overwrite:
        raise bad_parameter("out", str(target), "a file that does not exist, or --overwrite")
    total, seen, written = len(store), 0, 0
    with (
        reporting(progress) as report,
        replace_file(target) as file,
        compressing(file, _ENDINGS[ending]) as stream,
    ):
        for batch in store.iter_documents():
            kept = [one for one in batch if every or one.status == "new"]
            for one, own in zip(kept, _own_columns(store, kept), strict=True):
                clash = own.keys() & one.columns.keys()
                if clash:
                    allowed = f"columns with other names than {', '.join(own)}"
                    raise bad_parameter("columns", sorted(clash)[0], allowed)
                line: dict[str, Any] = {**own, **one.columns}
                if every:
                    line |= {"status": one.status, "match": one.match}
                stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            seen, written = seen + len(batch), written + len(kept)
            report("export", seen, total)
    return written


def _own_columns(store: Store, documents: list[StoredDocument]) -> list[dict[str, Any]]:
    """What a line has of a document beside its columns."""
    if not documents:
        return []
    ids = [one.id for one in documents]
    if store.settings.noun == "vector":
        return [{"id": name, "vector": row} for name, row in zip(ids, store.values(ids).tolist(), strict=True)]
    if store.settings.noun == "text":
        return [{"id": name, "text": text} for name, text in zip(ids, store.texts(ids), strict=True)]
    recipe = str(store.recipe)
    return [
        {
            "id": one.id,
            "path": str(one.id),
            "digest": digest,
            "recipe": recipe,
            "content": content,
            "length": one.length,
        }
        for one, digest, content in zip(documents, store.values(ids).tolist(), store.contents(ids), strict=True)
    ]
