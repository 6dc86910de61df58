r"""Undo the wrappers by which scripts hide their code, as far as their arguments are literals.

    eval(gzinflate(base64_decode('…')))   →   eval('code')

Calls are replaced from the inside out by the text that they return: `base64_decode`, `atob`, `gzinflate`,
`gzuncompress`, `gzdecode`, `str_rot13`, `strrev`, `hex2bin`, `pack('H*', …)`, `urldecode`, `rawurldecode`, `unescape`,
`chr`, `String.fromCharCode`, and literals joined by `.` or `+`. Code that appears is undone in turn. A call with a
variable, or one whose result is not text, stays as it is. Results are written without quotes, which features of text
(`nearkin._core.script_features`) skip.

Cost: O(length · rounds). Results are at most `max_bytes` long, so that a small file cannot expand without bound.
"""

from __future__ import annotations

import binascii
import codecs
import re
import zlib
from base64 import b64decode
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

_ROUNDS = 50
"""Maximum number of passes, each of which undoes the innermost calls."""
_STRING = rb"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NUMBER = rb"0[xX][0-9a-fA-F]{1,8}|\d{1,9}"
# A value that was computed is its number between two NUL bytes, which text does not have.
_ATOM = rb"(?:" + _STRING + rb"|\0\d+\0)"
_JOINED = _ATOM + rb"(?:\s*[.+]\s*" + _ATOM + rb")*"
_CHARACTERS = re.compile(
    rb"\b(?:chr|String\s*\.\s*fromCharCode)\s*\(\s*((?:" + _NUMBER + rb")(?:\s*,\s*(?:" + _NUMBER + rb"))*)\s*\)",
    re.IGNORECASE,
)
_PACK = re.compile(rb"\bpack\s*\(\s*['\"]H\*['\"]\s*,\s*(" + _JOINED + rb")\s*\)", re.IGNORECASE)
_ATOMS = re.compile(_ATOM, re.DOTALL)
_SUM = re.compile(_ATOM + rb"(?:\s*[.+]\s*" + _ATOM + rb")+", re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_PLAIN = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def _inflate(bits: int) -> Callable[[bytes, int], bytes]:
    def inflate(data: bytes, limit: int) -> bytes:
        stream = zlib.decompressobj(bits)
        text = stream.decompress(data, limit + 1)
        if not stream.eof:
            raise ValueError("an incomplete stream, or one beyond the limit")
        return text

    return inflate


_CALLS: dict[bytes, Callable[[bytes, int], bytes]] = {
    b"base64_decode": lambda data, _: b64decode(data + b"=" * (-len(data) % 4)),
    b"atob": lambda data, _: b64decode(data + b"=" * (-len(data) % 4)),
    b"gzinflate": _inflate(-15),
    b"gzuncompress": _inflate(15),
    b"gzdecode": _inflate(31),
    b"str_rot13": lambda data, _: codecs.encode(data.decode("latin-1"), "rot13").encode("latin-1"),
    b"strrev": lambda data, _: data[::-1],
    b"hex2bin": lambda data, _: binascii.unhexlify(data),
    **dict.fromkeys((b"urldecode", b"rawurldecode", b"unescape"), lambda data, _: unquote_to_bytes(data)),
}
_CALL = re.compile(rb"\b(" + b"|".join(_CALLS) + rb")\s*\(\s*(" + _JOINED + rb")\s*\)", re.IGNORECASE | re.DOTALL)
_SIGN = re.compile(rb"\b(?:" + b"|".join([*_CALLS, b"chr", b"fromCharCode", b"pack"]) + rb")\s*\(", re.IGNORECASE)


def undo_wrappers(data: bytes, max_bytes: int) -> bytes:
    """Return a script without its wrappers; the same bytes if it has none, or if the result is longer than `max_bytes`.

    Parameters
    ----------
    data : bytes
        A text file.
    max_bytes : int
        Maximum length of the result, and of each value on the way.

    Examples
    --------
    >>> from nearkin.dedup.scripts import undo_wrappers
    >>> undo_wrappers(b"eval(strrev(str_rot13(';)1(bupr')));", 100)
    b'eval(echo(1););'
    >>> undo_wrappers(b"strrev($name); 'a' . 'b'", 100)
    b"strrev($name); 'a' . 'b'"
    """
    if b"\0" in data or _SIGN.search(data) is None:
        return data
    values: list[tuple[bytes, bytes]] = []
    text = data

    def value_of(expression: bytes) -> bytes:
        return b"".join(
            values[int(atom[1:-1])][0] if atom[:1] == b"\0" else _unescape(atom) for atom in _ATOMS.findall(expression)
        )

    def keep(value: bytes, source: bytes) -> bytes:
        if len(value) > max_bytes:
            return source
        values.append((value, source))
        return b"\0%d\0" % (len(values) - 1)

    def call(match: re.Match[bytes], function: Callable[[bytes, int], bytes], argument: bytes) -> bytes:
        try:
            return keep(function(value_of(argument), max_bytes), match[0])
        except (ValueError, zlib.error):
            return match[0]

    def characters(match: re.Match[bytes]) -> bytes:
        return keep(
            bytes(
                int(number, 0 if number[:2] in (b"0x", b"0X") else 10) % 256 for number in re.findall(_NUMBER, match[1])
            ),
            match[0],
        )

    for _ in range(_ROUNDS):
        before = text
        text = _CHARACTERS.sub(characters, text)
        text = _SUM.sub(lambda match: keep(value_of(match[0]), match[0]) if b"\0" in match[0] else match[0], text)
        text = _PACK.sub(lambda match: call(match, _CALLS[b"hex2bin"], match[1]), text)
        text = _CALL.sub(lambda match: call(match, _CALLS[match[1].lower()], match[2]), text)
        if text == before:
            # What is left of values is text: its calls are undone in the next round.
            text = _restore(text, values)
            values.clear()
            if text == before or len(text) > max_bytes:
                break
    return text if len(text) <= max_bytes else data


def _unescape(literal: bytes) -> bytes:
    """Return the value of a literal; in single quotes only quotes and backslashes are escaped."""
    if literal[:1] == b"'":
        return re.sub(rb"\\(['\\])", rb"\1", literal[1:-1])

    def character(match: re.Match[bytes]) -> bytes:
        if match[3] is not None:
            return _PLAIN.get(match[3], match[3])
        return bytes([int(match[1] or match[2], 16 if match[1] else 8) % 256])

    return _ESCAPE.sub(character, literal[1:-1])


def _restore(text: bytes, values: list[tuple[bytes, bytes]]) -> bytes:
    """Return a text with its values as code, without quotes; one that is not text is the call again that gave it."""

    def restored(match: re.Match[bytes]) -> bytes:
        value, source = values[int(match[1])]
        if b"\0" in value or 10 * sum(byte < 32 and byte not in b"\t\n\r\f" for byte in value) > len(value):
            return pattern.sub(restored, source)
        return value

    pattern = re.compile(rb"\0(\d+)\0")
    return pattern.sub(restored, text)
