"""What the site shows of docstrings in the NumPy convention: an extension of griffe, which reads them.

- A source is `.. [1] Author, title.`, cited as `[1]_`, which Markdown does not support: it becomes a numbered list and
  `[1]`.
- The site's templates leave out the defaults of *Other Parameters*: each begins its description.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_OTHER = re.compile(r"^Other Parameters\n-+\n.*?(?=^\w+\n-+$|\Z)", re.MULTILINE | re.DOTALL)
_DEFAULT = re.compile(r"^(\w.*), default (.+)\n(\s+)", re.MULTILINE)


class Docstrings(griffe.Extension):
    """An extension that rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            text = re.sub(r"^(\s*)\.\. \[(\d+)\] ", r"\1\2. ", obj.docstring.value, flags=re.MULTILINE)
            text = re.sub(r"(?<=\w|\]|\)|`| )\[(\d+)\]_", r"\\[\1\\]", text)
            obj.docstring.value = _OTHER.sub(lambda match: _DEFAULT.sub(r"\1\n\3Default `\2`. ", match[0]), text)
