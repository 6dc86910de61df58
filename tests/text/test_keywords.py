"""nearkin.keywords and nearkin.Idf, compared with jieba, with their formulas, and with stored values."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
import reference
from nearkin import errors

TFIDF = "norm:none|case:keep|letters:all|cut:jieba|stop:jieba|min_length:2|word:1|idf:jieba"
TEXTS = [
    "线程池和连接池都是资源池，线程池里的线程执行任务。连接池里的连接复用，任务排队等待线程。",
    "工信处女干事每月经过下属科室都要亲口交代24口交换机等技术性器件的安装工作",
    "中国科学院计算所的硕士毕业后在京都大学深造，研究自然语言处理和机器学习，the machine learning of 机器学习。",
    "此外，公司拟对全资子公司吉林欧亚置业有限公司增资4.3亿元，增资后，吉林欧亚置业注册资本由7000万元增加到5亿元。"
    "吉林欧亚置业主要经营范围为房地产开发及百货零售等业务。目前在建吉林欧亚城市商业综合体项目。",
    "我",
    "",
    "...---... && The",
]


@pytest.fixture(scope="module")
def analyse() -> Any:
    """Return the keyword extraction of jieba."""
    jieba = pytest.importorskip("jieba")
    jieba.setLogLevel(60)
    return pytest.importorskip("jieba.analyse")


# jieba's keywords


def test_tfidf_keywords_are_jiebas(analyse: Any) -> None:
    """Words, order, and weights to the last bit."""
    expected = [analyse.extract_tags(text, topK=None, withWeight=True) for text in TEXTS]
    assert expected == nk.keywords(TEXTS, TFIDF)
    assert [result[:5] for result in expected] == nk.keywords(TEXTS, TFIDF, top=5)


def test_tfidf_keywords_of_parts_of_speech_are_jiebas(analyse: Any) -> None:
    """With tags, words are those of `jieba.posseg`."""
    expected = [analyse.extract_tags(text, topK=None, withWeight=True, allowPOS=("n", "v", "vn")) for text in TEXTS]
    assert expected == nk.keywords(TEXTS, TFIDF + "|tags:n,v,vn")


def test_textrank_keywords_are_jiebas(analyse: Any) -> None:
    """Words, order, and ranks to the last bit; the preset keeps 20."""
    expected = [analyse.textrank(text, topK=None, withWeight=True) for text in TEXTS]
    assert expected == nk.keywords(TEXTS, "zh-textrank", top="all")
    assert [result[:20] for result in expected] == nk.keywords(TEXTS, "zh-textrank")


@given(words=st.lists(st.sampled_from(["资源", "线程", "连接", "任务", "的", "，", "研究", "学习", "\n"]), max_size=60))
def test_textrank_of_any_words_is_jiebas(analyse: Any, words: list[str]) -> None:
    """Texts of few words that are often neighbours in both orders."""
    text = "".join(words)
    assert analyse.textrank(text, topK=None, withWeight=True) == nk.keywords([text], "zh-textrank", top="all")[0]


# The C++ library and the Go article


def test_jieba_jenkins_gives_the_published_fingerprint() -> None:
    """The README example of yanyiwu/simhash: five keywords, their weights, and the value."""
    text = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。"
    result = nk.keywords([text], "jieba-jenkins")[0]
    assert ["蓝翔", "CEO", "升职", "加薪", "手扶拖拉机"] == [word for word, _ in result]
    # The weight is count times IDF, without division by the number of words.
    published = [11.7392, 11.7392, 10.8562, 10.6426, 10.0089]
    assert published == [round(weight, 4) for _, weight in result]
    assert 17831459094038722629 == int(nk.fingerprint([text], "jieba-jenkins")[0])
    # Computed from the published keywords by a reference of the hash and the sums.
    weighted = [(word.encode(), round(weight * 10_000)) for (word, _), weight in zip(result, published, strict=True)]
    assert 17831459094038722629 == reference.simhash(weighted, 64, "jenkins64")


@pytest.mark.parametrize(
    ("preset", "top"), [("jieba-jenkins", 5), ("jieba-jenkins", 50), ("go-fnv1a", 22), ("go-fnv1a", 11)]
)
def test_keyword_fingerprints_are_sums_over_keywords(preset: str, top: int) -> None:
    """Compared with a reference: bit 1 if the sum of signed weights exceeds 0."""
    recipe = nk.Recipe.preset(preset).with_(top=str(top))
    for text in TEXTS:
        result = nk.keywords([text], recipe)[0]
        weighted = [(word.encode(), reference.exact(weight)) for word, weight in result]
        assert reference.simhash(weighted, 64, recipe.hash) == int(nk.fingerprint([text], recipe)[0])


# Weights


def test_weights_are_those_of_the_table() -> None:
    """Count, binary and log weights in descending order, ties in order of occurrence."""
    text = ["b a c b a b"]
    assert [[("b", 3.0), ("a", 2.0), ("c", 1.0)]] == nk.keywords(text, "word:1|count")
    assert [[("b", 1.0), ("a", 1.0), ("c", 1.0)]] == nk.keywords(text, "word:1|binary")
    result = nk.keywords(text, "word:1|log")[0]
    assert ["b", "a", "c"] == [word for word, _ in result]
    assert [1 + math.log(3), 1 + math.log(2), 1.0] == pytest.approx([weight for _, weight in result], rel=1e-15)


@pytest.mark.parametrize(("top", "kept"), [("all", 7), ("3", 3), ("9", 7), ("1%", 1), ("50%", 4), ("100%", 7)])
def test_top_is_a_number_or_a_share_rounded_up(top: str, kept: int) -> None:
    """For seven distinct words."""
    recipe = nk.Recipe(f"word:1|count|top:{top}|xxh3|simhash:64")
    assert kept == len(nk.keywords(["a b c d e f g a b"], recipe)[0])
    # Without `top`, all occurrences are counted.
    counted = 9 if top == "all" else kept
    assert [counted] == nk.fingerprint(["a b c d e f g a b"], recipe, return_counts=True)[1].tolist()


def test_weighted_fingerprints_without_a_cut_equal_plain_ones() -> None:
    """`top:100%` uses weighted sums, no `top` bit-sliced counters; both give the same bits."""
    texts = [*TEXTS, "the cat sat on the mat " * 9]
    for base in ("char:3|count", "char:3|binary", "cut:script|word:2|count"):
        plain = nk.fingerprint(texts, f"{base}|xxh3|simhash:192")
        assert plain.tolist() == nk.fingerprint(texts, f"{base}|top:100%|xxh3|simhash:192").tolist()


# Idf

CORPUS = ["red wine", "red red cheese", "blue cheese", None, "", "東京の red"]


def test_idf_is_that_of_its_formula() -> None:
    """ln((1 + N) / (1 + df)) + 1; nulls are not counted, empty texts are."""
    idf = nk.Idf.fit(CORPUS, "cut:script|word:1")
    df = Counter(word for text in CORPUS if text is not None for word in set(nk.words([text])[0]))
    assert (5, sorted(word.encode() for word in df)) == (idf.documents, idf.features)
    assert [df[feature.decode()] for feature in idf.features] == idf.frequencies.tolist()
    for word in [*df, "unseen"]:
        assert math.log(6 / (1 + df[word])) + 1 == pytest.approx(idf.value(word), rel=1e-15)


@given(texts=st.lists(st.text("ab \n\\\0", max_size=9), max_size=9), min_df=st.integers(1, 3), batch=st.integers(1, 4))
def test_idf_is_the_same_in_one_pass_of_any_batches(texts: list[str], min_df: int, batch: int) -> None:
    """Generators and lists give one table; `min_df` drops features."""
    recipe = "letters:all|char:2"
    idf = nk.Idf.fit(texts, recipe, min_df=min_df)
    assert idf.digest == nk.Idf.fit(iter(texts), recipe, min_df=min_df).digest
    whole = nk.Idf.fit(texts, recipe)
    kept = {f: df for f, df in zip(whole.features, whole.frequencies.tolist(), strict=True) if df >= min_df}
    assert kept == dict(zip(idf.features, idf.frequencies.tolist(), strict=True))


@given(texts=st.lists(st.text("ab \n\\\0\t中", max_size=9), max_size=9))
def test_a_saved_table_is_loaded_again(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Line feeds, tabs and backslashes in features round-trip."""
    path = tmp_path_factory.mktemp("idf") / "table.idf"
    idf = nk.Idf.fit(texts, "letters:all|char:2", min_df=1)
    idf.save(path)
    again = nk.Idf.load(path)
    assert (idf.digest, idf.features, idf.documents, idf.rules) == (
        again.digest,
        again.features,
        again.documents,
        again.rules,
    )
    assert idf.frequencies.tolist() == again.frequencies.tolist()
    assert ["table.idf"] == [result.name for result in path.parent.iterdir()]


def test_a_recipe_carries_its_table_by_digest() -> None:
    """Text form, JSON form and pickles; another table or none is refused."""
    import pickle

    idf, other = nk.Idf.fit(CORPUS, "word:1"), nk.Idf.fit(CORPUS[:2], "word:1")
    recipe = nk.Recipe(f"word:1|idf:{idf.digest}|top:2|xxh3|simhash:64", idf=idf)
    assert f"word:1|idf:{idf.digest}|top:2|xxh3|simhash:64" == str(recipe)
    assert (
        recipe
        == nk.Recipe.from_json(recipe.to_json(), idf=idf)
        == nk.Recipe().with_(features="word", n=1, weight="idf", idf=idf, top="2", bits=64)
    )
    again = pickle.loads(pickle.dumps(recipe))  # noqa: S301
    assert nk.keywords(CORPUS, recipe) == nk.keywords(CORPUS, again)
    for table in (None, other):
        with pytest.raises(errors.MismatchError, match="IDF table differs"):
            nk.Recipe(str(recipe), idf=table)
        with pytest.raises(errors.MismatchError, match="IDF table differs"):
            nk.Recipe.from_json(recipe.to_json(), idf=table)
    with pytest.raises(errors.ParameterError, match="use it with the weight"):
        nk.Recipe("word:1|count", idf=idf)
    with pytest.raises(errors.ParameterError, match="a table with the weight idf"):
        nk.Recipe("word:1|count").with_(weight="idf")
    with pytest.raises(errors.MismatchError, match="recipe slot cut of the IDF table differs"):
        idf.check(nk.Recipe("cut:jieba|word:1"))
    idf.check(recipe)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"1\tx\n",
        lambda data: data.replace(b"nearkin-idf", b"other"),
        lambda data: data.replace(b'"features": ', b'"features": 9'),
    ],
)
def test_damaged_tables_are_refused(tmp_path: Path, change: Any) -> None:
    """Damage is a CorruptStoreError with the file."""
    path = tmp_path / "table.idf"
    nk.Idf.fit(CORPUS, "word:1").save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(errors.CorruptStoreError, match=r"table\.idf is damaged"):
        nk.Idf.load(path)


@pytest.mark.parametrize("before", [b"\xff", b"[]\n"])
def test_a_file_that_begins_otherwise_is_no_table(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "table.idf"
    nk.Idf.fit(CORPUS, "word:1").save(path)
    path.write_bytes(before + path.read_bytes())
    with pytest.raises(errors.InputError, match="is no file that nearkin saved; give a table, as"):
        nk.Idf.load(path)


def test_a_table_that_lacks_a_line_is_refused(tmp_path: Path) -> None:
    """The header has the number of features, because a recomputed checksum would hide a missing line."""
    path = tmp_path / "table.idf"
    nk.Idf.fit(CORPUS, "word:1").save(path)
    head, _, body = path.read_bytes().partition(b"\n")
    slots = json.loads(head)
    rest = b"".join(body.splitlines(keepends=True)[1:])
    slots["sha256"] = hashlib.sha256(rest).hexdigest()
    # The first tables of this version have no checksum of the first line.
    del slots["head_sha256"]
    path.write_bytes(json.dumps(slots).encode() + b"\n" + rest)
    with pytest.raises(
        errors.CorruptStoreError, match=f"{slots['features'] - 1} features where {slots['features']} are"
    ):
        nk.Idf.load(path)


def test_a_corpus_is_counted_as_its_texts_are(tmp_path: Path) -> None:
    """`fit` accepts a corpus of `nearkin.io.open_corpus`."""
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in CORPUS), encoding="utf-8")
    expected = nk.Idf.fit(CORPUS, "word:1")
    assert expected.digest == nk.Idf.fit(nk.io.open_corpus([path]), "word:1").digest
    assert (
        f"Idf({len(CORPUS) - CORPUS.count(None)} documents, {len(expected)} features, digest {expected.digest})"
        == repr(expected)
    )


def test_newer_tables_and_absurd_parameters_are_refused(tmp_path: Path) -> None:
    """A newer file, a min_df of 0 and given features are refused."""
    path = tmp_path / "table.idf"
    nk.Idf.fit(CORPUS, "word:1").save(path)
    path.write_bytes(path.read_bytes().replace(b'"version": 1', b'"version": 4'))
    with pytest.raises(errors.FormatVersionError, match="format version 4 is newer than 3"):
        nk.Idf.load(path)
    for min_df in (0, -1, 1.5, True, 1 << 32):
        with pytest.raises(errors.ParameterError, match="min_df"):
            nk.Idf.fit(CORPUS, "word:1", min_df=min_df)  # type: ignore[arg-type]
    with pytest.raises(errors.ParameterError, match="given"):
        nk.Idf.fit(CORPUS, "given|xxh3|simhash:64")


@pytest.mark.parametrize("kind", ["list", "iterator", "column"])
def test_progress_counts_texts_and_changes_no_table(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many texts are counted in slices; the last event reports completion, and a bad text keeps its number."""
    monkeypatch.setattr("nearkin.text.batches._BATCH", 2)
    monkeypatch.setattr("nearkin.text.idf._MAX_TEXTS", 2)
    texts = ["red wine", None, "red cheese", "blue cheese", "wine"]
    counted: Any = {"list": texts, "iterator": iter(texts), "column": pyarrow.array(texts)}[kind]
    events: list[tuple[str, int, int | None]] = []
    table = nk.Idf.fit(counted, "word:1", progress=lambda *event: events.append(event))
    assert nk.Idf.fit(texts, "word:1").digest == table.digest
    total = None if kind == "iterator" else 5
    assert [*[("count", done, total) for done in (2, 4, 5)], ("count", 5, 5)] == events
    bad: Any = [*texts, 3]
    with pytest.raises(TypeError, match="text 5 is of type int"):
        nk.Idf.fit(bad, "word:1", progress=lambda *event: None)
