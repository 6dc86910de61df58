"""Folders of output that came with a commit of a store, and are put in their place after it.

`nearkin.io.atomic_write` says how a folder and a database change together. A store keeps such promises when it is opened
for writing; a row goes when its folder is in place and nothing hidden is left.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from nearkin.errors import StoreLockedError, warn_caller
from nearkin.io.atomic_write import is_pending, recover, sync_folder
from nearkin.store.log import Log, State, sum_of
from nearkin.store.snapshot import output_key


def settle(log: Log) -> list[Path]:
    """Put in place what interrupted runs owe; where that was. What can't be is a RuntimeWarning: nothing is lost."""
    with log.reading():
        promised = log.outputs()
    done, delivered = [], []
    for target, prepared in promised:
        owed = is_pending(Path(prepared), Path(target))
        try:
            recover(Path(target))
            if Path(target).parent.is_dir():
                sync_folder(Path(target).parent)
        except OSError as error:
            warn_caller(f"{log.folder}: {error}")
            continue
        # A hidden folder that is still there belongs to a process that is at work.
        if not Path(prepared).exists():
            done.append(target)
            delivered += [Path(target)] if owed else []
            if not Path(target).exists():
                message = f"{log.folder}: the output of an interrupted run into {target} was removed by somebody"
                warn_caller(message)
    if done:
        # Whoever is writing now: the next to open the store forgets them.
        with suppress(StoreLockedError), log.writing():
            log.set_state(forget(log, log.state(), done))
    return delivered


def promise(log: Log, state: State, target: Path, prepared: Path) -> State:
    """Write the row of an output in the transaction that is open; the counters with it.

    Raises
    ------
    StoreLockedError
        Another run is putting its output there.
    """
    if any(name == str(target) for name, _ in log.outputs()):
        message = f"{target}: another run is putting its output here; run again when it has ended"
        raise StoreLockedError(message, place=str(target))
    log.add_output(str(target), str(prepared))
    return replace(state, sums=state.sums ^ sum_of([output_key(str(target), str(prepared))]))


def forget(log: Log, state: State, targets: Collection[str]) -> State:
    """Remove rows in the transaction that is open; the counters without them."""
    rows = [row for row in log.outputs() if row[0] in targets]
    log.drop_outputs(target for target, _ in rows)
    return replace(state, sums=state.sums ^ sum_of([output_key(*row) for row in rows]))
