"""`nearkin store` over a store of files: arguments name what is hashed, as those of `nearkin dedup --family ssdeep`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nearkin.cli.console import Refusals, escaped
from nearkin.cli.open_inputs import is_store, own_folders
from nearkin.cli.paths import named_paths
from nearkin.cli.reading import Reading, report_malformed
from nearkin.errors import InputError, bad_parameter, check_regular

if TYPE_CHECKING:
    from nearkin.cli.open_inputs import Asked
    from nearkin.digests.ssdeep import DigestRecipe
    from nearkin.index.ids import Id
    from nearkin.io import Batch
    from nearkin.progress import Progress
    from nearkin.store.kinds.base import Kind
    from nearkin.store.results import CheckResult
    from nearkin.store.store import Store

_BATCH = 256
"""Files that are hashed and remembered by one call."""
_BATCH_BYTES = 8 << 20
"""Bytes of files that are sent by one call."""
_LIST_HEAD = b"ssdeep,1."

Tell = Callable[[Sequence["Id"], "Answers"], None]


class Unreadable(Refusals):
    """Files that are left out; with `strict` the first one is an error."""

    def __init__(self, *, strict: bool) -> None:
        super().__init__()
        self._strict = strict

    def add(self, path: str, error: Exception) -> None:
        """Leave a file out."""
        if self._strict:
            raise error
        self.refuse(error)


def refuse_of_texts(reading: Reading, **options: object) -> None:
    """Refuse options that are about texts."""
    for name, value in {**vars(reading), "strict": None, **options}.items():
        if value:
            raise bad_parameter(name, "given", "not with a store of files, whose arguments are files and folders")


def add_files(
    store: Asked, inputs: Sequence[str], tell: Tell, progress: Progress, *, keep_all: bool, strict: bool
) -> tuple[Counter[str], Refusals]:
    """Remember files and what is below folders, some at a time; how many were what."""
    refusals, counts = Unreadable(strict=strict), Counter[str]()
    call = store.add if keep_all else store.check_and_add
    for items, names, kind in _given(store, inputs, refusals, ids=True):
        answers = call(items, names, kind=kind)
        tell(names, answers)
        counts.update(answers.status)
        progress("add", counts.total(), None)
    return counts, refusals


def check_files(store: Asked, inputs: Sequence[str], tell: Tell, *, best: int | None, strict: bool) -> Refusals:
    """Say what files and what is below folders would be."""
    refusals = Unreadable(strict=strict)
    for items, names, kind in _given(store, inputs, refusals, ids=False):
        tell([escaped(name) for name in names], store.check(items, k=best, kind=kind))
    return refusals


def _given(
    store: Asked, inputs: Sequence[str], refusals: Unreadable, *, ids: bool
) -> Iterator[tuple[Any, list[str], Kind | None]]:
    """The files that can be read, some at a time, as a store or a service takes them, and their names; each once."""
    listed = named_paths(map(Path, inputs), refusals, recursive=True, leave_out=own_folders(store))
    paths = list(dict.fromkeys(map(str, listed)))
    if ids:
        for path in [path for path in paths if escaped(path) != path]:
            reason = "its name is not UTF-8, as ids of a store are; rename it"
            refusals.add(path, InputError(f"{escaped(path)}: {reason}", place=escaped(path), reason=reason))
        paths = [path for path in paths if escaped(path) == path]
    return _hashed(store, paths, refusals) if is_store(store) else _contents(paths, refusals)


def _hashed(store: Store, paths: list[str], refusals: Unreadable) -> Iterator[tuple[Any, list[str], Kind | None]]:
    """Files by their digests and the hashes of their bytes."""
    from nearkin.dedup.files import hash_paths

    for start in range(0, len(paths), _BATCH):
        hashed = hash_paths(paths[start : start + _BATCH], _recipe(store), on_error=refusals.add)
        if len(hashed):
            yield hashed, [str(name) for name in hashed.ids.to_list()], None


def _contents(paths: list[str], refusals: Unreadable) -> Iterator[tuple[Any, list[str], Kind | None]]:
    """Files by their bytes: a service hashes them."""
    contents: list[bytes] = []
    names: list[str] = []
    for path in paths:
        try:
            check_regular(path, "a regular file")
            contents.append(Path(path).read_bytes())
        except (InputError, OSError) as error:
            refusals.add(path, error)
            continue
        names.append(path)
        if len(names) == _BATCH or sum(map(len, contents)) > _BATCH_BYTES:
            yield contents, names, "bytes"
            contents, names = [], []
    if names:
        yield contents, names, "bytes"


def _recipe(store: Store) -> DigestRecipe:
    return cast("DigestRecipe", store.recipe)


# Lists of digests


def import_digests(
    store: Store, inputs: Sequence[str], reading: Reading, columns: Sequence[str], progress: Progress
) -> Counter[str]:
    """Remember the digests of lists of the program and of JSON lines, such as an export: all stay."""
    counts = Counter[str]()
    lists = [path for path in inputs if path != "-" and _is_list(Path(path))]
    for path in lists:
        counts.update(_import_list(store, Path(path)))
        progress("import", counts.total(), None)
    others = [path for path in inputs if path not in lists]
    if not others:
        return counts
    with reading.with_columns("digest", "id").corpus(
        others, extra_columns=[*columns, "content", "length", "recipe"]
    ) as corpus:
        for batch in corpus.batches(wait_for_columns=True):
            counts.update(_import_batch(store, batch, columns))
            progress("import", counts.total(), None)
        report_malformed(corpus)
    return counts


def _is_list(path: Path) -> bool:
    """Whether a file begins as a list of the program."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_LIST_HEAD)) == _LIST_HEAD


def _import_list(store: Store, path: Path) -> list[str]:
    """Remember the entries of a list of the program."""
    from nearkin.digests.ssdeep import DigestRecipe
    from nearkin.digests.ssdeep.lists import read_digests

    _recipe(store).check_same(DigestRecipe())
    entries = list(read_digests(path))
    names = [escaped(entry.name) for entry in entries]
    return list(store.add([entry.digest for entry in entries], names, kind="digests").status)


def _import_batch(store: Store, batch: Batch, columns: Sequence[str]) -> list[str]:
    """Remember a batch of digests, with the contents that an export gives."""
    from nearkin.digests.ssdeep import DigestRecipe
    from nearkin.store.kinds.files import hash_digest_list

    cells = {name: batch.columns[name].to_list() for name in (*columns, "content", "length", "recipe")}
    for made in {cell for cell in cells["recipe"] if cell is not None}:
        _recipe(store).check_same(DigestRecipe(str(made)))
    contents = [_content(cell, batch.first_row + row) for row, cell in enumerate(cells["content"])]
    lengths = [int(cell or 0) for cell in cells["length"]]
    hashed = hash_digest_list([str(text) for text in batch.texts], contents, lengths)
    shown = {name: cells[name] for name in columns}
    ids: list[Any] = batch.ids.to_list()
    return list(store.add(hashed, ids, columns=shown or None).status)


def _content(cell: Any, row: int) -> tuple[int, int] | None:
    """The hash of a file's bytes, from 32 hexadecimal digits."""
    if cell is None:
        return None
    try:
        number = int(str(cell), 16)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 128:
        reason = f"the content {str(cell)[:40]!r} is not 32 hexadecimal digits, as an export has them"
        raise InputError(f"row {row}: {reason}", place=f"row {row}", reason=reason)
    return number >> 64, number & (1 << 64) - 1
