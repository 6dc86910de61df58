"""Numbered references of docstrings as Markdown: an extension of griffe, which reads docstrings for the site.

In the NumPy convention a source is `.. [1] Author, title.`, cited as `[1]_`. Markdown does not support this syntax, so
the extension rewrites it as a numbered list and `[1]`.
"""

from __future__ import annotations

import re
from typing import Any

import griffe


class Citations(griffe.Extension):
    """An extension that rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            text = re.sub(r"^(\s*)\.\. \[(\d+)\] ", r"\1\2. ", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = re.sub(r"(?<=\w|\]|\)|`| )\[(\d+)\]_", r"\\[\1\\]", text)
