"""A store as a corpus: a JSON object per line, which `nearkin store import` and `nearkin dedup` read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nearkin.errors import bad_parameter
from nearkin.io.inputs import Compression
from nearkin.io.output import replace_file
from nearkin.io.streams import compressing
from nearkin.pipeline.documents import Progress
from nearkin.store.base import Store

_ENDINGS: dict[str, Compression] = {".jsonl": "", ".jsonl.gz": "gz", ".jsonl.zst": "zst"}


def export_corpus(
    store: Store,
    path: str | os.PathLike[str],
    *,
    every: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
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
    progress : function, optional
        Called with stage, done and total.

    Raises
    ------
    ParameterError
        Another ending; a file that is there; a column named `id` or `text`.
    """
    target = Path(path)
    ending = next((ending for ending in sorted(_ENDINGS, key=len, reverse=True) if target.name.endswith(ending)), None)
    if ending is None:
        raise bad_parameter("out", str(target), "a file that ends in .jsonl, .jsonl.gz or .jsonl.zst")
    if target.exists() and not overwrite:
        raise bad_parameter("out", str(target), "a file that does not exist, or --overwrite")
    total, seen, written = len(store), 0, 0
    with replace_file(target) as file, compressing(file, _ENDINGS[ending]) as stream:
        for batch in store.iter_documents():
            kept = [one for one in batch if every or one.status == "new"]
            texts = store.texts([one.id for one in kept]) if kept else []
            for one, text in zip(kept, texts, strict=True):
                clash = {"id", "text"} & one.columns.keys()
                if clash:
                    raise bad_parameter("columns", sorted(clash)[0], "columns with other names than id and text")
                line: dict[str, Any] = {"id": one.id, "text": text, **one.columns}
                if every:
                    line |= {"status": one.status, "match": one.match}
                stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            seen, written = seen + len(batch), written + len(kept)
            if progress is not None:
                progress("export", seen, total)
    return written
