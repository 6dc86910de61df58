"""Write `tests/golden/recipes.json`: fingerprints, signatures and keywords that every later version must reproduce.

    python tools/make_golden.py

Run once for each version of the recipe's rules. A run that would change an existing value fails.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import nearkin as nk
from nearkin.recipe.text import PRESETS

PATH = Path(__file__).parents[1] / "tests" / "golden" / "recipes.json"

TEXTS = {
    "english": "The quick brown fox can't jump 32.3 feet, right? It jumps over the lazy dog; the dog sleeps.",
    "short": "How are you?",
    "chinese": "敏捷的棕色狐狸跳过了懒狗。敏捷的棕色狐狸没有跳过猫，一九九八年。",
    "japanese": "素早い茶色の狐はのろまな犬を飛び越える。ｶﾞｲﾄﾞ ガイド　第１２章",
    "arabic": "الثعلب البني السريع يقفز فوق الكلب الكسول ۱۲۳",
    "hindi": "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है",
    "composed": "Éclair à la crème brûlée, STRASSE straße ΟΔΥΣΣΕΥΣ İstanbul",
    "decomposed": "E\u0301clair a\u0300 la cre\u0300me bru\u0302le\u0301e, STRASSE straße ΟΔΥΣΣΕΥΣ İstanbul",
    "compatibility": "ﬁne ① Ⅳ ｆｕｌｌ ㎏ x² \u00a0 Ĳ",
    "emoji": "I 👍🏽 it, 👨\u200d👩\u200d👧 too ❤\ufe0f!",
    "empty": "",
    "punctuation": "... !? -- \n\t",
    "long": " ".join(f"item {i % 37} of {i * i % 101} costs {i % 7}.{i % 10}0 €;" for i in range(120)),
}
"""A text for each thing that can go wrong: scripts, forms, letters without case, texts without letters, repetition."""

RECIPES: list[tuple[str, list[str]]] = [
    ("char:4|count|xxh3|simhash:128", []),
    ("norm:none|case:lower|letters:python|char:4|count|md5|simhash:64", []),
    ("char:4|count|xxh3|simhash:64", []),
    ("char:1|binary|xxh3:7|simhash:1", []),
    ("norm:nfc|case:lower|char:3|binary|sha1|simhash:100", []),
    ("norm:none|case:keep|letters:all|char:5|count|fnv1a|simhash:64", []),
    ("char:2|binary|md5|simhash:1024", []),
    ("char:20|count|xxh3:18446744073709551615|simhash:192", []),
    ("word:1|count|murmur3:42|simhash:128", []),
    ("char:3|count|sha256|simhash:256", []),
    ("word:1|binary|sha224|simhash:512", []),
    ("word:2|binary|lookup3:123456789012|simhash:1024", []),
    ("letters:python|word:3|count|xxh3|simhash:128", []),
    ("letters:all|case:keep|word:1|count|one_at_a_time|simhash:32", []),
    ("word:2|count|xxh3|simhash:64", ["The", "of", "is", "la"]),
    ("cut:script|word:1|log|xxh3|simhash:128", []),
    ("norm:none|case:keep|letters:all|cut:jieba|word:2|count|md5|simhash:64", []),
    ("norm:none|case:keep|letters:all|cut:jieba|min_length:2|tags:n,ns,v,vn|word:1|binary|xxh3|simhash:64", []),
    (PRESETS["go-fnv1a"], []),
    (PRESETS["jieba-jenkins"], []),
    (PRESETS["jieba-jenkins"].replace("cut:cppjieba", "cut:jieba"), []),
    ("norm:none|case:keep|letters:all|cut:cppjieba|word:2|count|top:50%|fnv1a|simhash:64", []),
    (PRESETS["zh-keywords"], []),
    (PRESETS["zh-textrank"], []),
]

SLOT_TEXTS = {
    **TEXTS,
    "chinese scripts": "萬里長城是中國古代的偉大建築，乾隆皇帝。万里长城是中国古代的伟大建筑，薴苧苎。",
    "look-alikes": "раураl ассоunt ΙΒΜ ІВМ Ӏӏ, Σίσυφος, œuvre ß øł, шалом ב١٠, кириллица И",
    "accents": "Crème bru\u0302le\u0301e, Ελληνικά ΐ, ёлка Й й, ø ł Å, हिन्दी ガギ か\u3099 שָׁלוֹם ภาษาไทยที่",
    "numbers": "1.5 or 15 percent, -5 or \u22125 or 5 °C, ½ or 12 cups, 1,000.50 at 10-5; ٣٫٥ x+1 (+2) 3. 气温－5度",
}
"""Texts for the slots that the JSON form leaves out at their default."""

SLOTS = [
    "fold:hans|char:3|binary|xxh3|simhash:128",
    "fold:lookalikes|char:4|binary|xxh3|simhash:128",
    "fold:accents|char:4|count|xxh3|simhash:64",
    "norm:none|fold:hans,lookalikes,accents|case:keep|letters:all|char:2|count|md5|simhash:64",
    "fold:hans|cut:jieba|word:1|count|xxh3|simhash:64",
    "numbers:whole|char:4|binary|xxh3|simhash:128",
    "numbers:whole|word:2|count|xxh3|simhash:128",
    "norm:nfc|fold:accents|case:lower|letters:python|numbers:whole|word:1|count|fnv1a|simhash:64",
    "fold:hans|numbers:whole|cut:jieba|tags:m,n|word:1|count|xxh3|simhash:64",
    "fold:hans,lookalikes,accents|numbers:whole|cut:script|word:1|log|xxh3|simhash:128",
    "char:1-2|count|xxh3|simhash:64",
    "word:1-3|binary|xxh3|simhash:128",
    "cut:script|word:2-3|log|md5|simhash:128",
]
"""Recipes with these slots."""

CODE_TEXTS = {
    "python": '@cached(8)\nasync def area(self, w=0x1F, *, h: float = 2.5e-3) -> float:\n    """Doc."""\n'
    "    size = [self.scale(w // 2), f'{h} it\\'s', rb\"\\x00\"]  # comment\n    while size and not self.done:\n"
    "        size.pop()\n    return max(size) ** 变量.长度\n",
    "rust": "#[inline]\nfn first<'a>(x: &'a [u8], y: char) -> Option<&'a u8> { // comment\n    /* a\n b */ if y == "
    "'\"' { return None; }\n    x.iter().find(|&&z| z as char == y && Kind::Any == Kind::of(z) && z > 1_000)\n}\n",
    "open": "SELECT a -- comment\nFROM b WHERE c = 'd' AND e--; #include <f.h>\n"
    + "x->y(1, `z`); " * 5
    + "\"g 'h /* i",
    "short": "return {'key one': 1}",
}
"""Source code: each class of tokens, comments, texts that are not closed, and a code that is one word."""

CODE = ["cut:code|word:1|count|xxh3|simhash:64", "case:keep|cut:code|word:3|binary|xxh3|simhash:128"]
"""Recipes for source code."""

SIGNATURES = [
    PRESETS["minhash"].replace("minhash:128", "minhash:16"),
    "word:1|binary|xxh3|minhash:16",
    "word:1|binary|xxh3:7|minhash:8:fast:64",
    "cut:script|word:1|binary|murmur3|minhash:8:classic",
    "char:2|binary|sha1|minhash:9:classic:64",
]
"""Recipes of the family minhash."""

KEYWORDS = ["zh-keywords", "zh-textrank", "jieba-jenkins"]
"""Presets whose five heaviest features are pinned."""

GIVEN: list[tuple[str, list[tuple[str, float]]]] = [
    ("xxh3:0", [("red", 3), ("wine", 1), ("cheese", -2), ("中文", 9007199254740993)]),
    ("xxh3:5", [("red", 0.25), ("wine", 1.5), ("cheese", -2.75), ("中文", 1e300)]),
    ("fnv1a:0", [("上海", 45.11), ("北京", 32.09), ("", 1.0)]),
]

ROWS = [[0, 0, 2.5, 0, -1], [3, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]


def hexadecimal(fps: np.ndarray[Any, np.dtype[np.uint64]]) -> list[str]:
    """Return each fingerprint as one hexadecimal number, highest bit first."""
    return ["".join(f"{int(word):016x}" for word in np.atleast_1d(row)[::-1]) for row in fps]


def signature_values(recipe: str) -> dict[str, list[int]]:
    """Return the signature of every text."""
    return dict(zip(TEXTS, nk.signature(list(TEXTS.values()), recipe).tolist(), strict=True))


def golden_entry(recipe: nk.Recipe, texts: dict[str, str], stop_words: list[str]) -> dict[str, Any]:
    """Return a recipe in all its forms, with its results for the texts."""
    fps, counts = nk.fingerprint(list(texts.values()), recipe, return_counts=True)
    return {
        "recipe": str(recipe),
        "stop_words": stop_words,
        "digest": recipe.digest,
        "json": recipe.to_json(),
        "fingerprints": dict(zip(texts, hexadecimal(fps), strict=True)),
        "counts": dict(zip(texts, counts.tolist(), strict=True)),
    }


def make() -> dict[str, Any]:
    """Return all golden values of this version."""
    recipes = []
    for text, stop_words in RECIPES:
        draft = nk.Recipe().with_(stop_words=stop_words, features="word") if stop_words else nk.Recipe()
        stop = [part + "|" for part in str(draft).split("|") if part.startswith("stop:")]
        recipes.append(golden_entry(nk.Recipe("".join(stop) + text, stop_words=stop_words), TEXTS, stop_words))
    signatures = [
        {"recipe": text, "digest": nk.Recipe(text).digest, "signatures": signature_values(text)} for text in SIGNATURES
    ]
    keywords = {
        preset: {name: nk.keywords([text], preset, top="5")[0] for name, text in TEXTS.items()} for preset in KEYWORDS
    }
    values = []
    for hash_name, document in GIVEN:
        name, seed = hash_name.split(":")
        simhash = nk.SimHash(128, hash=name, seed=int(seed))
        values.append(
            {"hash": hash_name, "document": document, "fingerprint": hexadecimal(simhash.fingerprint([document]))}
        )
    rows = hexadecimal(nk.SimHash(64).fingerprint_csr(csr_array(np.array(ROWS))))
    return {
        "texts": TEXTS,
        "recipes": recipes,
        "signatures": signatures,
        "keywords": keywords,
        "given": values,
        "csr": {"rows": ROWS, "fingerprints": rows},
        "slots": {"texts": SLOT_TEXTS, "recipes": [golden_entry(nk.Recipe(text), SLOT_TEXTS, []) for text in SLOTS]},
        "code": {"texts": CODE_TEXTS, "recipes": [golden_entry(nk.Recipe(text), CODE_TEXTS, []) for text in CODE]},
    }


def main() -> int:
    """Write the file; return 1 if an existing value would change."""
    made = make()
    if PATH.exists():
        before = json.loads(PATH.read_text(encoding="utf-8"))
        after = {entry["recipe"]: entry for entry in made["recipes"]}
        for entry in before["recipes"]:
            again = after.get(entry["recipe"], entry)
            changed = [
                name for name, value in entry["fingerprints"].items() if value != again["fingerprints"].get(name)
            ]
            if changed:
                print(
                    f"{entry['recipe']}: {', '.join(changed)} would change; recipes are promised for ever",
                    file=sys.stderr,
                )
                return 1
        sections = [(name, before.get(name, {"recipes": []})["recipes"]) for name in ("slots", "code")]
        for name, entry in ((name, entry) for name, entries in sections for entry in entries):
            if entry not in made[name]["recipes"]:
                print(f"{entry['recipe']}: would change; recipes are promised for ever", file=sys.stderr)
                return 1
        for entry, again in zip(before.get("signatures", []), made["signatures"], strict=False):
            if entry != again:
                print(f"{entry['recipe']}: signatures would change; recipes are promised for ever", file=sys.stderr)
                return 1
    PATH.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
