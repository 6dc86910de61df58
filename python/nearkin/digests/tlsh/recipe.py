"""Recipes of TLSH digests: how a file becomes a digest.

tlsh[:256][:checksum3][:conservative]
"""

from __future__ import annotations

from typing import ClassVar

from nearkin.digests.base import Choices, Digest, Flags, FuzzyRecipe
from nearkin.digests.tlsh.comparison import distance
from nearkin.digests.tlsh.hashing import BUCKETS, CHECKSUM, hash, hash_files  # noqa: A004 - the public name
from nearkin.errors import bad_parameter


class TlshRecipe(FuzzyRecipe):
    """A recipe of TLSH digests. Only digests with equal recipes can be compared.

    Parameters
    ----------
    text : str, default "tlsh"
        Text form: the family with its flags, `tlsh[:256][:checksum3][:conservative]`.

    Attributes
    ----------
    family : str
        "tlsh".
    buckets, checksum, conservative
        As for `nearkin.digests.tlsh.hash`.

    Raises
    ------
    ParameterError
        The family or a flag is unknown, or a flag occurs twice.

    Examples
    --------
    >>> import nearkin as nk
    >>> recipe = nk.tlsh.TlshRecipe("tlsh:256")
    >>> len(recipe.hash(b"The quick brown fox jumps over the lazy dog, and the dog sleeps on." * 9))
    136
    """

    _allowed: ClassVar[Choices] = {
        "family": ("tlsh",),
        "buckets": (BUCKETS, 256),
        "checksum": (CHECKSUM, 3),
        "conservative": (False, True),
    }
    _defaults: ClassVar[dict[str, object]] = {name: values[0] for name, values in _allowed.items()}
    _flags: ClassVar[Flags] = {
        "256": ("buckets", 256),
        "checksum3": ("checksum", 3),
        "conservative": ("conservative", True),
    }
    _form = "tlsh[:256][:checksum3][:conservative], each once"
    _hash, _hash_files = staticmethod(hash), staticmethod(hash_files)

    buckets: int
    checksum: int
    conservative: bool

    def __init__(self, text: str = "tlsh") -> None:
        if not isinstance(text, str):
            raise bad_parameter("recipe", repr(text), "the text form, such as tlsh or tlsh:256")
        family, *flags = text.split(":")
        self._fill({"family": family, **self._parse_flags(text, flags)})

    def distance(self, a: Digest, b: Digest) -> int:
        """Compute the distance of two digests of this recipe by `nearkin.digests.tlsh.distance`.

        Parameters
        ----------
        a, b
            As for `nearkin.digests.tlsh.distance`.
        """
        return distance(a, b)

    def __str__(self) -> str:
        return ":".join(self._set_flags())
