"""The options of a client, checked before anything is sent."""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path
from urllib.parse import quote, urlsplit

from nearkin.errors import bad_parameter

_TOKEN = re.compile(r"[\x21-\x7e]+")
_LONGEST = 86_400.0
"""Seconds of `timeout`, at most."""


def check_token(token: object) -> None:
    """Refuse a token that no header can hold; the message does not show it.

    Raises
    ------
    ParameterError
    """
    if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
        raise bad_parameter("token", "what it is", "letters, digits and signs of ASCII, without spaces")


def check_timeout(timeout: object) -> None:
    """Refuse what is no number of seconds, up to a day.

    Raises
    ------
    ParameterError
    """
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= _LONGEST:
        raise bad_parameter("timeout", repr(timeout), "seconds, above 0 and up to 86,400")


def checked_url(url: str) -> str:
    """The URL of a service, without a slash at its end.

    Raises
    ------
    ParameterError
        It is none.
    """
    allowed = "the URL of a service, such as http://127.0.0.1:8470"
    if not isinstance(url, str):
        raise bad_parameter("url", repr(url), allowed)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise bad_parameter("url", repr(url), allowed) from None
    if parts.username is not None or parts.password is not None:
        raise bad_parameter("url", "one with a name or a password", f"{allowed}, and token=")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise bad_parameter("url", repr(url), allowed)
    if parts.query or parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        raise bad_parameter("url", repr(url), f"{allowed}, without spaces, ? and #")
    return f"{parts.scheme}://{parts.netloc}{quote(parts.path, safe='/%:@!$&()*+,;=~-._').rstrip('/')}"


def checked_verify(verify: object) -> bool | ssl.SSLContext:
    """How a service is verified, as httpx takes it.

    Raises
    ------
    ParameterError
        Anything else, or a file without authorities.
    OSError
        The file can't be read.
    """
    if isinstance(verify, (bool, ssl.SSLContext)):
        return verify
    if not isinstance(verify, (str, os.PathLike)):
        raise bad_parameter("verify", repr(verify), "True, False, the file of an authority or an ssl.SSLContext")
    path = Path(verify)
    path.open("rb").close()
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        raise bad_parameter("verify", repr(str(path)), "a file of certificates in PEM") from None
