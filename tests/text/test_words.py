"""nearkin.words and recipes of words, compared with jieba; segmentation by script; unusual texts."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import json
import random
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
import strategies
from nearkin import errors

ROOT = Path(__file__).parents[2]
PLAIN = "norm:none|case:keep|letters:all|cut:jieba|word:1"
"""The tokens of jieba, but for white space."""

CHINESE = [
    "我来到北京清华大学",
    "他来到了网易杭研大厦",
    "小明硕士毕业于中国科学院计算所，后在日本京都大学深造",
    "工信处女干事每月经过下属科室都要亲口交代24口交换机等技术性器件的安装工作",
    "永和服装饰品有限公司",
    "「台中」正確應該不會被切開。mac上可分出「石墨烯」；此時又可以分出來凱特琳了。",
    "B超和T恤，c++、C#、AT&T公司3.14%的5.5元，Python3.9-beta_2... a.b%%",
    "IBM是一家不错的公司，给你买了一件T恤衫；枪杆子中出政权\r\n张三风同学走上了不归路 \t\n  1.23.45",
    "这是一个伸手不见五指的黑夜。我叫孙悟空，我爱北京，我爱Python和C++。",
    "𠮷野家的㐂字々〇ー龦龻",
]


@pytest.fixture(scope="module")
def jieba() -> Any:
    """Return jieba without its messages."""
    module = pytest.importorskip("jieba")
    module.setLogLevel(60)
    module.initialize()
    return module


def tokens(jieba: Any, text: str) -> list[str]:
    return [token for token in jieba.cut(text) if token.strip()]


# Equal to jieba


def test_tokens_are_jiebas(jieba: Any) -> None:
    """Dictionary words, unknown words, Latin, numbers and punctuation equal jieba's, except white space."""
    assert [tokens(jieba, text) for text in CHINESE] == nk.words(CHINESE, PLAIN)


@given(
    text=st.text(
        "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会龦%+-.#& a1B，\r\n",
        max_size=40,
    )
)
def test_any_text_is_cut_as_jieba_cuts_it(jieba: Any, text: str) -> None:
    """Common characters in any order, and everything that ends a block."""
    assert tokens(jieba, text) == nk.words([text], PLAIN)[0]


def test_parts_of_speech_are_jiebas(jieba: Any) -> None:
    """With `tags`, tokens are those of `jieba.posseg` with one of the tags."""
    posseg = pytest.importorskip("jieba.posseg")
    for tags in (["n"], ["nr", "ns", "v"], ["x", "m", "eng"], ["nz", "i", "zg"]):
        expected = [[w.word for w in posseg.cut(text) if w.flag in tags and w.word.strip()] for text in CHINESE]
        assert expected == nk.words(CHINESE, f"{PLAIN}|tags:{','.join(tags)}")


def test_parts_of_speech_of_unknown_characters_are_jiebas(jieba: Any) -> None:
    """Runs of characters with many, few and no states in the model."""
    posseg = pytest.importorskip("jieba.posseg")
    rng = random.Random(5)
    table = importlib.import_module("jieba.posseg.char_state_tab").P
    every = [chr(code) for code in range(0x4E00, 0x9FD6)]
    kinds = [
        [c for c in every if c in table],
        [c for c in every if 1 <= len(table.get(c, ())) <= 3],
        [c for c in every if c not in table],
        list("的一是了我不人在他有这"),
    ]
    texts = [
        "".join("".join(rng.choices(rng.choice(kinds), k=rng.randint(1, 4))) for _ in range(rng.randint(1, 5)))
        for _ in range(120)
    ]
    theirs = [list(posseg.cut(text)) for text in texts]
    for tag in ("n", "v", "nr", "zg", "a", "d", "m", "nz", "vn", "g"):
        expected = [[w.word for w in result if w.flag == tag] for result in theirs]
        assert expected == nk.words(texts, f"{PLAIN}|tags:{tag}")


@pytest.mark.parametrize("name", ["zh_news_sogou", "zh_laws", "zh_reviews", "zh_song_poems", "zh_tang_two_editions"])
def test_shared_texts_are_cut_as_jieba_cuts_them(jieba: Any, shared: Path, name: str) -> None:
    """Every token of a sample of each Chinese corpus."""
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"][:1500] for i, line in enumerate(lines) if i % 40 == 0][:40]
    assert [tokens(jieba, text) for text in texts] == nk.words(texts, PLAIN)


USER_WORDS = """云计算 5
李小福 2 nr
创新办 3 i
easy_install 3 eng
好用 300
韩玉赏鉴 3 nz
八一双鹿 3 nz
台中
凱特琳 nz
Edu Trust认证 2000
中国 0
"""


def test_a_users_dictionary_changes_words_as_it_changes_jiebas(jieba: Any) -> None:
    """Words with and without frequency and tag, a removed word, and suggested frequencies."""
    own = jieba.Tokenizer()
    own.load_userdict(io.BytesIO(USER_WORDS.encode()))
    texts = [
        *CHINESE,
        "李小福是创新办主任也是云计算方面的专家; 什么是八一双鹿",
        "easy_install is great，中国人好用",
        "中国 凱特琳",
    ]
    try:
        expected = [[token for token in own.cut(text) if token.strip()] for text in texts]
    finally:
        # jieba has one global set of words to be split.
        jieba.finalseg.Force_Split_Words.clear()
    recipe = nk.Recipe(PLAIN, user_words=USER_WORDS)
    assert expected == nk.words(texts, recipe)
    assert expected != nk.words(texts, PLAIN)


@pytest.mark.slow
def test_the_packed_data_are_those_of_jieba(jieba: Any) -> None:
    """The packing tool produces the files in the repository."""
    location = importlib.util.spec_from_file_location("pack_jieba", ROOT / "tools" / "pack_jieba.py")
    assert location is not None
    assert location.loader is not None
    tool = importlib.util.module_from_spec(location)
    location.loader.exec_module(tool)
    data = ROOT / "crates" / "nearkin-base" / "data"
    digests = [
        hashlib.sha256((data / name).read_bytes()).hexdigest() for name in ("jieba-words.bin", "jieba-models.bin")
    ]
    made = [tool.pack_words(Path(jieba.__file__).parent), tool.pack_models()]
    assert [hashlib.sha256(content).hexdigest() for content in made] == digests


# Segmentation by script


def test_one_recipe_serves_a_mixed_corpus() -> None:
    """Chinese by jieba, Japanese and Thai by dictionaries, everything else by UAX #29."""
    text = "I can't read 清华大学, 東京都は日本の首都, ภาษาไทย or ελληνικά 한국어를!"
    expected = [
        "i",
        "can't",
        "read",
        "清华大学",
        "東京",
        "都",
        "は",
        "日本",
        "の",
        "首都",
        "ภาษา",
        "ไทย",
        "or",
        "ελληνικά",
        "한국어를",
    ]
    assert [expected] == nk.words([text])


def test_normalisation_comes_before_segmentation() -> None:
    """Full-width letters, decomposed kana and case do not affect segmentation."""
    assert nk.words(["ＡＢＣ清华大学"]) == nk.words(["abc清华大学"])
    assert nk.words([unicodedata.normalize("NFD", "東京でガイドを")]) == nk.words(["東京でガイドを"])


def test_stop_words_length_and_letters_choose_words() -> None:
    """Named lists, stop words of the user, a minimum length, and words without letters."""
    text = "我们 的 清华大学 and THE Laws... 3 --"
    assert [["我们", "的", "清华大学", "and", "the", "laws", "3"]] == nk.words([text], "cut:jieba|word:1")
    assert [["清华大学", "laws"]] == nk.words([text], "cut:jieba|stop:en,zh|min_length:2|word:1")
    recipe = nk.Recipe("cut:jieba|stop:zh|min_length:2|word:1").with_(stop_words=["LAWS"])
    assert [["清华大学", "and", "the"]] == nk.words([text], recipe)
    assert str(recipe).startswith("cut:jieba|stop:zh,")
    assert recipe == nk.Recipe(str(recipe), stop_words=["LAWS"])


# Unusual texts

ODD = {
    "empty": "",
    "one character": "中",
    "one letter": "a",
    "punctuation": "。、…!?--《》%%..",
    "white space": " \n\t\u3000\r\n",
    "emoji": "👍🏽 👨\u200d👩\u200d👧 ❤\ufe0f 🇩🇪",
    "right to left": "الثعلب البني السريع שועל חום מהיר",
    "decomposed": unicodedata.normalize("NFD", "Éclair à la crème, ガイド 한국어"),
    "mixed": "Ünïcode中文とカタカナไทยмир123العالم👍e\u0301",
    "control": "\0\x01\x7f\u200b\ufeff\u2028",
    "high": "𠮷𡈽𪚥\U0010ffff",
}
TOKENIZERS = [
    "char:4",
    "letters:all|char:4",
    "word:1",
    "letters:python|word:2",
    "letters:all|word:2",
    "cut:jieba|word:1",
    "cut:jieba|word:3",
    "norm:none|case:keep|letters:all|cut:jieba|tags:n,v,x,eng|word:1",
    "cut:script|word:1",
    "cut:script|stop:en,ja,zh|min_length:2|word:2",
]
WEIGHTS = ["count", "binary", "log", "idf:jieba", "idf:jieba|top:3", "count|top:50%"]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_odd_texts_go_through_every_tokenizer(tokenizer: str) -> None:
    """Unusual texts, separate and joined, have consistent counts with every weight."""
    texts = [*ODD.values(), "".join(ODD.values())]
    for weight in WEIGHTS:
        recipe = nk.Recipe(f"{tokenizer}|{weight}|xxh3|simhash:64")
        fps, counts = nk.fingerprint(texts, recipe, return_counts=True)
        single = [int(nk.fingerprint([text], recipe)[0]) for text in texts]
        assert single == fps.tolist()
        assert [bool(recipe.features_of(text)) for text in texts] == [count > 0 for count in counts.tolist()]
        assert [] == [value for value, count in zip(fps.tolist(), counts.tolist(), strict=True) if value and not count]
    assert {} == nk.Recipe(tokenizer).features_of("")


@given(text=strategies.texts())
def test_words_are_parts_of_the_text_in_order(text: str) -> None:
    """Without normalisation the words occur in the text in order."""
    for cut in ("jieba", "script"):
        at = 0
        for word in nk.words([text], f"norm:none|case:keep|cut:{cut}|word:1")[0]:
            result = text.find(word, at)
            assert result >= at
            at = result + len(word)


@given(text=strategies.texts())
def test_features_are_the_n_grams_of_the_words(text: str) -> None:
    """A feature of `word:2` is two words joined by a space, and the fingerprint follows from the counts."""
    recipe = nk.Recipe("cut:script|word:2|count|xxh3|simhash:64")
    words = nk.words([text], recipe)[0]
    grams = [" ".join(words[i : i + 2]) for i in range(max(len(words) - 1, 1))] if words else []
    expected: dict[str, int] = {}
    for gram in grams:
        expected[gram] = expected.get(gram, 0) + 1
    assert expected == recipe.features_of(text)
    if expected:
        assert nk.SimHash(64).fingerprint([expected]).tolist() == nk.fingerprint([text], recipe).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_a_document_of_100_mb_goes_through_every_tokenizer(tokenizer: str) -> None:
    """Time is linear (at most four times that of 5 MB per byte), and memory below 40 bytes per byte."""
    program = """
import resource, sys, time
import nearkin as nk
nk.set_num_threads(1)
recipe = nk.Recipe(sys.argv[1] + "|count|xxh3|simhash:64")
part = "我来到北京清华大学，敏捷的棕色狐狸3.14%。東京都は日本の首都 ภาษาไทย The quick brown fox can't jump. "
part += "李小福是创新办主任也是云计算方面的专家 👍 "
def seconds(size):
    text = part * (size // len(part.encode()))
    start = time.process_time()
    nk.fingerprint([text], recipe)
    return time.process_time() - start
seconds(1 << 16)
small = seconds(5_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
large = seconds(100_000_000)
print(small / 5, large / 100, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / 1e8)
"""
    result = subprocess.run([sys.executable, "-c", program, tokenizer], capture_output=True, text=True, check=True)
    small, large, memory = map(float, result.stdout.split())
    assert large <= 4 * small
    assert memory <= 40


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["中", "龦", "a", "中文", "0123456789abcdef", "。", "é"])
def test_a_single_run_of_30_mb_is_cut(unit: str) -> None:
    """One block, one unknown run, one word: nothing is quadratic (limit 10 s, usually 1 s)."""
    text = unit * (30_000_000 // len(unit.encode()))
    for recipe in ("cut:jieba|word:1", "cut:script|word:1", PLAIN + "|tags:n"):
        start = time.process_time()
        nk.fingerprint([text], recipe + "|count|xxh3|simhash:64")
        assert time.process_time() - start < 60


# Loading


def test_import_loads_no_dictionary_and_first_use_is_quick() -> None:
    """The dictionary is unpacked on first use, in less CPU time than two imports."""
    program = """
import time
start = time.process_time(); import nearkin as nk
imported = time.process_time() - start
recipe = nk.Recipe("cut:jieba|word:1|count|xxh3|simhash:64"); nk.fingerprint([], recipe)
middle = time.process_time(); nk.words(["我来到北京"], recipe)
print((time.process_time() - middle) / imported)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # Measured: 0.15 s and 0.37 s. Both grow in proportion on a slower machine.
    assert float(result.stdout) < 2


# Refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cut:mecab|word:1", "cut=mecab is not allowed; use uax29, jieba, cppjieba, script, code"),
        ("cut:jieba|char:4", "use word:n with cut, min_length and tags"),
        ("tags:n|cut:cppjieba|word:1", "tags=n is not allowed; use none without cut:jieba"),
        ("tags:n|cut:script|word:1", "tags=n is not allowed; use none without cut:jieba"),
        ("letters:all|cut:script|word:1", "use word with cut:script"),
        ("min_length:0|word:1", "min_length=0 is not allowed; use 1 to 64"),
        ("stop:fr|word:1", "stop=fr is not allowed"),
        ("tags:N|cut:jieba|word:1", "use tags of small letters"),
        ("word:2|textrank", "textrank with word:1 alone"),
        ("word:1|idf:0123456789abcdeg", "is not one of them"),
        ("word:1|count|top:0", "top=0 is not allowed; use all, a number from 1"),
        ("word:1|count|top:101%", "top=101% is not allowed"),
        ("given|top:5", "top=5 is not allowed; use all with given features"),
        ("stop:en|char:4", "use none with char n-grams"),
    ],
)
def test_faulty_rules_for_words_are_refused(text: str, message: str) -> None:
    """Each error says what is allowed."""
    with pytest.raises(errors.ParameterError, match=message):
        nk.Recipe(text)


def test_user_words_are_refused_where_they_can_not_be_used() -> None:
    """No dictionary, a wrong digest, a word too long, a frequency too large."""
    with pytest.raises(errors.ParameterError, match="none without cut:jieba or cut:script"):
        nk.Recipe("word:1", user_words="云计算")
    with pytest.raises(errors.ParameterError, match="none without cut:jieba or cut:script"):
        nk.Recipe("cut:cppjieba|word:1", user_words="云计算")
    recipe = nk.Recipe("cut:jieba|word:1", user_words="云计算 5")
    with pytest.raises(errors.MismatchError, match="user words differs"):
        nk.Recipe(str(recipe))
    with pytest.raises(errors.MismatchError, match="user words differs"):
        nk.Recipe.from_json(recipe.to_json(), user_words="云计算 6")
    assert recipe == nk.Recipe(str(recipe), user_words=["云计算 5", ""])
    assert recipe == nk.Recipe.from_json(recipe.to_json(), user_words="云计算 5\n")
    with pytest.raises(errors.InputError, match="line 2: word of 65 characters"):
        nk.Recipe("cut:jieba|word:1", user_words="云计算\n" + "词" * 65)
    with pytest.raises(errors.InputError, match="frequency above"):
        nk.Recipe("cut:jieba|word:1", user_words="云计算 99999999999999")


def test_words_need_a_recipe_of_words() -> None:
    """Recipes of characters are refused."""
    with pytest.raises(errors.ParameterError, match="use a recipe of words"):
        nk.words(["abc"], "char:4")


def test_words_are_theirs_whichever_were_made_before() -> None:
    """Short words share strings in a cache with fewer slots than there are words."""
    rng = random.Random(11)
    alphabet = "ab的一éλ😀"
    # Words of up to 15 bytes are shared, so test words around that length with a common prefix.
    texts = [
        " ".join("".join(rng.choices(alphabet, k=rng.randint(1, 9))) for _ in range(40_000)),
        " ".join("a" * length for length in range(1, 40)),
        "",
    ]
    recipe = "norm:none|case:keep|letters:all|word:1"
    assert [text.split() for text in texts] == nk.words(texts, recipe)
    (result,) = nk.words(["的 一 的"], recipe)
    assert result[0] is result[2]


@given(st.lists(st.one_of(st.none(), strategies.texts()), max_size=6))
def test_arrow_holds_the_same_words(texts: list[str | None]) -> None:
    result = nk.words(texts, result="arrow")
    assert nk.words(texts) == result.to_pylist()
    result.validate(full=True)


def test_an_unknown_result_is_refused() -> None:
    with pytest.raises(errors.ParameterError, match="lists or arrow"):
        nk.words(["a"], result="table")  # type: ignore[call-overload]
