"""Requests of a small site, and their patterns."""

from __future__ import annotations

import random


def traffic(seed: int = 1, size: int = 600) -> list[str]:
    """Return requests of a small site."""
    r = random.Random(seed)
    words = ["red", "blue", "old", "new", "river", "stone", "garden", "house", "light", "wood", "paper", "glass"]

    def one() -> str:
        kind = r.randrange(7)
        if kind == 0:
            return f"GET http://shop.example/api/v1/users/{r.randrange(10**6)}/orders?page={r.randrange(9)}&size=20"
        if kind == 1:
            return f"GET http://shop.example/blog/{'-'.join(r.sample(words, 4))}.html"
        if kind == 2:
            return f"GET http://shop.example/index.php?m=cart&c=show&id={r.randrange(999)}"
        if kind == 3:
            return f"GET http://shop.example/index.php?c=login&m=user&name={r.choice(words)}&next=/{r.choice(words)}"
        if kind == 4:
            return "GET http://shop.example/api/v1/users/list"
        if kind == 5:
            return f"POST http://shop.example/api/v1/files/{r.getrandbits(128):032x}"
        return f"GET http://shop.example/search?q={'+'.join(r.sample(words, r.randint(1, 3)))}"

    return [one() for _ in range(size)]


EXPECTED = [
    "GET shop.example/api/v1/users/list",
    "GET shop.example/api/v1/users/{int}/orders?page={int}&size={int}",
    "GET shop.example/blog/{slug}.html",
    "GET shop.example/index.php?c=login&m=user&name={word}&next={path}",
    "GET shop.example/index.php?c=show&id={int}&m=cart",
    "GET shop.example/search?q={text}",
    "POST shop.example/api/v1/files/{hex}",
]
