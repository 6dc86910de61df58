"""Thumbnails of images in a report: small JPEG pictures as data URIs, made of files; links for URLs.

No URL is fetched. Files are decoded with pillow, if it is installed, by the decoders of common formats only, and within
limits of bytes and pixels. A file that cannot be read has no thumbnail.
"""

from __future__ import annotations

import base64
import io
import struct
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SIDE = 96
"""Maximum width and height of a thumbnail, in pixels."""
MAX_FILE_BYTES = 64 << 20
MAX_TOTAL_CHARACTERS = 6_000_000
"""Maximum length of all data URIs of a report."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM")
_QUALITY = 70
NO_PILLOW = "no thumbnails: they need pillow (pip install pillow)"


def is_link(value: str) -> bool:
    """Return True for a URL that a page may link to."""
    return value.lower().startswith(("http://", "https://"))


def make_thumbnails(values: Mapping[str, str], bases: Sequence[Path], notes: list[str]) -> dict[str, str]:
    """Return a data URI or a link for each document with an image.

    Parameters
    ----------
    values : mapping of str to str
        Path or URL by id.
    bases : sequence of Path
        Folders in which relative paths are looked up, in this order.
    notes : list of str
        Gets a sentence for each reason why thumbnails are missing.
    """
    images = {name: value for name, value in values.items() if is_link(value)}
    paths = {name: value for name, value in values.items() if value and not is_link(value)}
    if not paths:
        return images
    try:
        import PIL  # noqa: F401 - only whether it is installed
    except ImportError:
        notes.append(NO_PILLOW)
        return images
    remaining, unread, left_out = MAX_TOTAL_CHARACTERS, 0, 0
    for name, value in paths.items():
        if remaining <= 0:
            left_out += 1
            continue
        data = next((data for base in bases if (data := _shrink(base / value)) is not None), None)
        if data is None:
            unread += 1
            continue
        images[name] = "data:image/jpeg;base64," + base64.b64encode(data).decode("ascii")
        remaining -= len(images[name])
    if unread:
        notes.append(f"{unread:,} of {len(paths):,} images could not be read: they have no thumbnail")
    if left_out:
        notes.append(f"{left_out:,} of {len(paths):,} thumbnails are left out: they would make this file too large")
    return images


def _shrink(path: Path) -> bytes | None:
    """Return a small JPEG of an image on white; None if it cannot be read."""
    from PIL import Image, ImageOps

    # What the decoders raise for files that are damaged or too large.
    broken: tuple[type[Exception], ...] = (OSError, ValueError, SyntaxError, EOFError, TypeError, LookupError)
    broken += (ArithmeticError, struct.error, Image.DecompressionBombError, Image.DecompressionBombWarning)
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=_FORMATS) as image:
                image.draft("RGB", (2 * SIDE, 2 * SIDE))
                small: Any = ImageOps.exif_transpose(image)
                small.thumbnail((SIDE, SIDE))
                small = small.convert("RGBA")
                page = Image.new("RGB", small.size, "white")
                page.paste(small, mask=small)
                buffer = io.BytesIO()
                page.save(buffer, "JPEG", quality=_QUALITY)
                return buffer.getvalue()
    except broken:
        return None
