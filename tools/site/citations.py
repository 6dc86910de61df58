"""Numbered references of docstrings as Markdown: an extension of griffe, which reads docstrings for the site.

In the NumPy convention a source is `.. [1] Author, title.` and is cited as `[1]_`. Markdown knows neither: they
become a numbered list and `[1]`.
"""

from __future__ import annotations

import re
from typing import Any

import griffe


class Citations(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring:
            text = re.sub(r"^(\s*)\.\. \[(\d+)\] ", r"\1\2. ", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = re.sub(r"(?<=\w|\]|\)|`| )\[(\d+)\]_", r"\\[\1\\]", text)
