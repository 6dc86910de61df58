"""Pack the dictionary, the IDF table and the hidden Markov models of jieba 0.42.1 for the core.

    python tools/pack_jieba.py

Reads the installed package `jieba` (MIT licence, copied to `crates/nearkin-base/data/LICENSE-jieba`) and writes
`crates/nearkin-base/data/jieba-words.bin` and `jieba-models.bin`; tests/text/test_words.py compares both with the
package.

Words are sorted by code points and stored without the prefix that they share with the previous one, and by columns,
because a wheel compresses these by a fifth more than rows. Numbers are LEB128:

    count of words · total of frequencies · count of tags · tags, each ended by a line feed
    count of IDF values · IDF values (f64) · position of the median among them
    count of characters · characters (u16), the most frequent first
    five columns, each after its number of bytes:
        for each word one byte, shared characters << 4 | further characters - 1
        positions of the further characters among the characters
        for each word its frequency (0: not in the dictionary)
        for each word with a frequency its tag, one byte
        for each word the position of its IDF value + 1, or 0

Models (f64 and u16 little-endian, no LEB128):

    start of B, E, M, S · transitions from each of B, E, M, S to each of them, missing ones MIN_FLOAT
    u32 count of characters · for each: u16 character, emission of B, E, M, S, missing ones MIN_FLOAT
    u32 count of tagged states · for each its name (letter, tag), ended by a line feed, then its start
    u32 count of transitions · for each: u8 from, u8 to, f64
    u32 count of distinct emissions, each f64
    u32 count of characters · for each: u16 character, u8 count of states, and for each of them
        u8 state, u16 position of its emission or 0x7fff for none, | 0x8000 if the character's list of states has it
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from pathlib import Path

import jieba
from jieba.finalseg.prob_emit import P as EMIT
from jieba.finalseg.prob_start import P as START
from jieba.finalseg.prob_trans import P as TRANS
from jieba.posseg.char_state_tab import P as STATES
from jieba.posseg.prob_emit import P as TAG_EMIT
from jieba.posseg.prob_start import P as TAG_START
from jieba.posseg.prob_trans import P as TAG_TRANS

VERSION = "0.42.1"
MIN_FLOAT = -3.14e100
TARGET = Path(__file__).parents[1] / "crates" / "nearkin-base" / "data"


def varint(value: int) -> bytes:
    """Return LEB128: seven bits per byte, lowest first."""
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def pack_words(source: Path) -> bytes:
    """Pack the dictionary and the IDF table."""
    dictionary: dict[str, tuple[int, str]] = {}
    total = 0
    for line in (source / "dict.txt").read_text(encoding="utf-8").splitlines():
        word, frequency, tag = line.split(" ")
        dictionary[word] = (int(frequency), tag)
        # As in jieba, a word that occurs twice counts twice in the total and has its last frequency.
        total += int(frequency)
    idf: dict[str, float] = {}
    for line in (source / "analyse" / "idf.txt").read_text(encoding="utf-8").splitlines():
        word, value = line.split(" ")
        idf[word] = float(value)
    tags = [tag for tag, _ in Counter(tag for _, tag in dictionary.values()).most_common()]
    # The most frequent value is first, so that its position takes one byte.
    values = [value for value, _ in Counter(idf.values()).most_common()]
    median = sorted(idf.values())[len(idf) // 2]
    words = sorted({*dictionary, *idf})
    out = bytearray(varint(len(words)) + varint(total) + varint(len(tags)))
    out += "".join(f"{tag}\n" for tag in tags).encode()
    out += varint(len(values)) + struct.pack(f"<{len(values)}d", *values) + varint(values.index(median))
    tag_position = {tag: position for position, tag in enumerate(tags)}
    value_place = {value: position for position, value in enumerate(values)}
    rests: list[str] = []
    before = ""
    lengths, frequencies, tag_column, idf_column = bytearray(), bytearray(), bytearray(), bytearray()
    for word in words:
        shared = 0
        while shared < min(15, len(word) - 1, len(before)) and word[shared] == before[shared]:
            shared += 1
        rest = word[shared:]
        lengths.append(shared << 4 | len(rest) - 1)
        rests.append(rest)
        frequency, tag = dictionary.get(word, (0, ""))
        frequencies += varint(frequency)
        if frequency:
            tag_column.append(tag_position[tag])
        idf_column += varint(value_place[idf[word]] + 1 if word in idf else 0)
        before = word
    further = "".join(rests)
    counts = Counter(further)
    characters = sorted(counts, key=lambda character: (-counts[character], character))
    out += varint(len(characters)) + struct.pack(f"<{len(characters)}H", *map(ord, characters))
    position = {character: varint(i) for i, character in enumerate(characters)}
    further_column = b"".join([position[character] for character in further])
    for column in (lengths, further_column, frequencies, tag_column, idf_column):
        out += varint(len(column)) + column
    return bytes(out)


def pack_models() -> bytes:
    """Pack the models of unknown words: one of positions in a word, one of positions and tags."""
    letters = "BEMS"
    out = bytearray(struct.pack("<4d", *(START[letter] for letter in letters)))
    out += struct.pack("<16d", *(TRANS[source].get(target, MIN_FLOAT) for source in letters for target in letters))
    characters = sorted({character for letter in letters for character in EMIT[letter]})
    out += struct.pack("<I", len(characters))
    for character in characters:
        out += struct.pack("<H4d", ord(character), *(EMIT[letter].get(character, MIN_FLOAT) for letter in letters))
    # The order of (letter, tag) decides ties.
    states = sorted(TAG_START)
    position = {state: i for i, state in enumerate(states)}
    out += struct.pack("<I", len(states))
    for letter, tag in states:
        out += f"{letter}{tag}\n".encode() + struct.pack("<d", TAG_START[letter, tag])
    moves = [
        (position[source], position[target], value)
        for source in states
        for target, value in sorted(TAG_TRANS[source].items())
    ]
    out += struct.pack("<I", len(moves)) + b"".join(struct.pack("<BBd", *move) for move in moves)
    values = sorted({value for emissions in TAG_EMIT.values() for value in emissions.values()})
    value_place = {value: i for i, value in enumerate(values)}
    out += struct.pack(f"<I{len(values)}d", len(values), *values)
    characters = sorted({*STATES, *(character for emissions in TAG_EMIT.values() for character in emissions)})
    out += struct.pack("<I", len(characters))
    for character in characters:
        listed = set(STATES.get(character, ()))
        listed_states = [state for state in states if state in listed or character in TAG_EMIT[state]]
        out += struct.pack("<HB", ord(character), len(listed_states))
        for state in listed_states:
            value = TAG_EMIT[state].get(character)
            number = 0x7FFF if value is None else value_place[value]
            out += struct.pack("<BH", position[state], number | 0x8000 * (state in listed))
    return bytes(out)


def main() -> int:
    """Write both files."""
    if jieba.__version__ != VERSION:
        print(f"jieba {jieba.__version__} is installed; the data are those of {VERSION}", file=sys.stderr)
        return 1
    TARGET.mkdir(exist_ok=True)
    (TARGET / "jieba-words.bin").write_bytes(pack_words(Path(jieba.__file__).parent))
    (TARGET / "jieba-models.bin").write_bytes(pack_models())
    return 0


if __name__ == "__main__":
    sys.exit(main())
