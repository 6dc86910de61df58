"""Fields of configs that are also options of the command line: their help texts and the groups that list them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import Any

# Groups of options, in the order in which help lists them.
MATCHING, KEEPING, OUTPUT, PARTS = "Matching", "Keeping", "Output", "Parts"


def option(
    default: Any,
    *,
    help: str,
    group: str | None = None,
    flag: str | None = None,
    metavar: str | None = None,
    choices: Sequence[str] = (),
    min: float | None = None,
    max: float | None = None,
    show_default: str | None = None,
) -> Any:
    """Declare a field of a config that is also an option of the command line.

    Parameters
    ----------
    default : object
        None if the value follows from other options or from a store.
    help : str
        One sentence for users of the command line.
    group : str, optional
        The panel of the help in which the option is listed; None for the general one.
    flag : str, optional
        A short form such as "-t", in addition to the name of the field with two dashes.
    metavar : str, optional
        The placeholder of the value in the help.
    choices : sequence of str
        Values that a shell completes; the config itself checks what it gets.
    min, max : float, optional
        Smallest and largest value, inclusive.
    show_default : str, optional
        The default in words, where `default` is None.

    Returns
    -------
    dataclasses.Field
        Its metadata have all parameters by name, except `default`.
    """
    metadata = {
        "help": help,
        "group": group,
        "flag": flag,
        "metavar": metavar,
        "choices": tuple(choices),
        "min": min,
        "max": max,
        "show_default": show_default,
    }
    return field(default=default, metadata=metadata)


matching_option, keeping_option, output_option, parts_option = (
    partial(option, group=group) for group in (MATCHING, KEEPING, OUTPUT, PARTS)
)
