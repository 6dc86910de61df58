"""Patterns of many items: templates of log lines, patterns of URLs, groups of payloads, with typed variables.

`base` has the common contract, `lines`, `urls` and `payloads` have the classes, `tables` builds Arrow tables, and
`inputs` reads items, times and sources.
"""

from __future__ import annotations

from nearkin.patterns.base import PatternExplanation, PatternMatch, Patterns, Unmatched
from nearkin.patterns.lines import LogTemplates
from nearkin.patterns.payloads import PayloadGroups
from nearkin.patterns.urls import UrlPatterns

__all__ = [
    "LogTemplates",
    "PatternExplanation",
    "PatternMatch",
    "Patterns",
    "PayloadGroups",
    "Unmatched",
    "UrlPatterns",
]
