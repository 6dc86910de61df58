"""Options of `dedup` and its relatives: those of the configs, documented, typed, and refused if misspelt."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from nearkin.dedup.config import (
    DedupConfig,
    DedupOptions,
    EngineDedupOptions,
    FileDedupConfig,
    FileDedupOptions,
    PassagesConfig,
    PassagesOptions,
)
from nearkin.errors import ParameterError, UnknownOptionError
from nearkin.spark.api import dedup as spark_dedup

TEXTS = ["the same text of a few words", "the same text of a few words!", "another"]

# Function, TypedDict of its options, configs, options that are inputs, and fields that it does not have.
FUNCTIONS: list[tuple[Any, Any, tuple[type, ...], set[str], set[str]]] = [
    (nk.dedup, DedupOptions, (DedupConfig,), {"sources", "groups", "columns", "output", "ledger"}, set()),
    (
        spark_dedup,
        EngineDedupOptions,
        (DedupConfig,),
        set(),
        {"lossless", "shrink_to", "min_sources", "max_comparisons", "near_misses"},
    ),
    (nk.dedup_files, FileDedupOptions, (FileDedupConfig,), {"columns", "output", "ledger"}, set()),
    (
        nk.passages,
        PassagesOptions,
        (DedupConfig, PassagesConfig),
        {"sources"},
        {
            "kind",
            "measure",
            "differ",
            "empty",
            "lossless",
            "shrink_to",
            "min_sources",
            "cluster",
            "links",
            "near_misses",
            "checkpoint",
        },
    ),
]
CASES = pytest.mark.parametrize(
    ("function", "declared", "configs", "inputs", "absent"),
    FUNCTIONS,
    ids=["dedup", "spark", "dedup_files", "passages"],
)


def config_fields(configs: tuple[type, ...]) -> dict[str, Any]:
    """Return the fields that callers set, by name, with their defaults."""
    return {
        field.name: None if field.default is MISSING else field.default
        for config in configs
        for field in fields(config)
        if field.init and field.name not in ("candidates", "signatures", "kind_set")
    }


def documented(function: Any) -> dict[str, str]:
    """Return the types of the parameters in a docstring, by name."""
    text = re.split(r"\n    (?:Returns|Raises)\n", function.__doc__ or "")[0]
    names = re.findall(r"^    ((?:\*\*)?\w+(?:, \w+)*)(?: : (.*))?$", text, re.MULTILINE)
    return {name: kind for group, kind in names for name in group.split(", ")}


@CASES
def test_every_field_of_the_configs_is_an_option(
    function: Any, declared: Any, configs: tuple[type, ...], inputs: set[str], absent: set[str]
) -> None:
    """The parameters and the `TypedDict` together have each field once, and nothing but these and the inputs."""
    explicit = set(function.__kwdefaults__)
    assert set() == explicit & set(declared.__annotations__)
    assert len(explicit) <= 12
    own = config_fields(configs).keys() - absent
    assert own == (explicit | declared.__annotations__.keys()) & own
    assert declared.__annotations__.keys() - inputs == own - explicit
    for name, default in function.__kwdefaults__.items():
        assert default == config_fields(configs).get(name, default) or default is None


@CASES
def test_every_option_is_documented_with_its_default(
    function: Any, declared: Any, configs: tuple[type, ...], inputs: set[str], absent: set[str]
) -> None:
    """Docstrings list every parameter and option; a default that they state is the config's."""
    kinds = documented(function)
    assert set() == {*function.__kwdefaults__, *declared.__annotations__} - kinds.keys()
    for name, default in config_fields(configs).items():
        kind = kinds.get(name, "")
        if "default " in kind and default is not None:
            stated = kind.partition("default ")[2].replace(",", "").strip('"')
            assert stated == str(default), name


@CASES
def test_a_misspelt_option_is_an_error_that_names_the_likely_one(
    function: Any, declared: Any, configs: tuple[type, ...], inputs: set[str], absent: set[str]
) -> None:
    """The error is a ParameterError and, as Python's own, a TypeError."""
    with pytest.raises(UnknownOptionError, match=r"\(\) has no option treshold; did you mean threshold\?") as caught:
        function(TEXTS, treshold=0.7)
    assert (caught.value.name, caught.value.likely) == ("treshold", "threshold")
    assert isinstance(caught.value, ParameterError)
    assert isinstance(caught.value, TypeError)
    option = next(iter(declared.__annotations__))
    with pytest.raises(TypeError, match=f"did you mean {option}"):
        function(TEXTS, **{option + "s": 1})
    with pytest.raises(UnknownOptionError, match=r"has no option xyzzy; use .*threshold, .*keep"):
        function(TEXTS, xyzzy=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("radius", 3), ("recall", 0.9), ("bands", "9x3"), ("verify", "indel"), ("differ", "days"), ("empty", "drop")),
        *(("cluster", "components"), ("links", "all"), ("max_comparisons", 5), ("near_misses", 1)),
        *(
            ("sources", ["a", "a", "b"]),
            ("groups", ["a", "b", "b"]),
            ("shrink_to", 3),
            ("checkpoint", "work"),
            ("columns", {"n": [1, 2, 3]}),
        ),
    ],
)
def test_each_option_reaches_the_run(name: str, value: Any, tmp_path: Path) -> None:
    """An option changes the summary, makes a folder, or is refused without what it needs."""
    run: Callable[..., nk.DedupResult] = partial(nk.dedup, TEXTS)
    if name == "checkpoint":
        run(checkpoint=tmp_path / "work")
        assert (tmp_path / "work").is_dir()
    elif name == "columns":
        with pytest.raises(ParameterError, match="columns, a ledger"):
            run(columns=value)
    elif name in ("links", "near_misses", "max_comparisons"):
        with pytest.raises(ParameterError, match=name):
            run(**{name: -1})
        run(**{name: value})
    else:
        drop = ("timings", "peak_memory_mb", "peak_memory_bytes")
        base, changed = (
            {key: value for key, value in run(**each).summary.items() if key not in drop}
            for each in ({}, {name: value})
        )
        assert base != changed


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("radius", -1), ("recall", 2.0), ("bands", "9y3"), ("verify", "x"), ("share", 0.5), ("boilerplate", "x")),
        *(("boilerplate_documents", 1), ("boilerplate_share", 2.0), ("max_comparisons", 0)),
    ],
)
def test_each_option_of_passages_is_checked(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=name):
        nk.passages(TEXTS, **{name: value})
