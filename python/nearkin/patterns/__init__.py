"""What many items have in common: templates of log lines, patterns of URLs, groups of payloads, with typed variables.

`base` is the contract of all; one module each has the class. `tables` makes Arrow tables, `given` reads what callers
have.
"""

from __future__ import annotations

from nearkin.patterns.base import Explanation, Match, Patterns, Unexplained
from nearkin.patterns.lines import LogTemplates
from nearkin.patterns.payloads import PayloadGroups
from nearkin.patterns.urls import UrlPatterns

__all__ = ["Explanation", "LogTemplates", "Match", "Patterns", "PayloadGroups", "Unexplained", "UrlPatterns"]
