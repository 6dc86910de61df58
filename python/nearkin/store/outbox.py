"""Outputs that are committed together with a store, and published after the commit.

`nearkin.io.atomic_write` describes how a folder and a database change together. A store publishes its pending outputs
when it is opened for writing. The row of an output is dropped once its folder is published and nothing hidden is left.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from nearkin.errors import StoreLockedError, warn_caller
from nearkin.io.atomic_write import is_pending, recover, sync_folder
from nearkin.store.log import Log


def publish_pending(log: Log) -> list[Path]:
    """Publish the outputs that interrupted runs left pending, and return their targets.

    An output that cannot be published is a RuntimeWarning: nothing is lost, and the next opening tries again.
    """
    with log.reading():
        outputs = log.outputs()
    done, published = [], []
    for name, prepared in outputs:
        target = Path(name)
        pending = is_pending(Path(prepared), target)
        try:
            recover(target)
            if target.parent.is_dir():
                sync_folder(target.parent)
        except OSError as error:
            warn_caller(f"{log.folder}: {error}")
            continue
        # A hidden folder that still exists belongs to a running process.
        if not Path(prepared).exists():
            done.append(name)
            if pending:
                published.append(target)
            if not target.exists():
                warn_caller(f"{log.folder}: the output of an interrupted run into {name} was removed by somebody")
    if done:
        # If another process is writing, the next one to open the store drops the rows.
        with suppress(StoreLockedError), log.writing():
            log.drop_outputs(done)
            log.set_state(log.state())
    return published


def add_output(log: Log, target: Path, prepared: Path) -> None:
    """Add a pending output in the open transaction.

    Raises
    ------
    StoreLockedError
        Another run is publishing its output to the same target.
    """
    if any(name == str(target) for name, _ in log.outputs()):
        message = f"{target}: another run is putting its output here; run again when it has ended"
        raise StoreLockedError(message, place=str(target))
    log.add_output(str(target), str(prepared))
