"""nearkin.digests.ssdeep.recipe: recipes of fuzzy digests."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, MismatchError, ParameterError


def test_a_recipe_says_how_digests_are_made() -> None:
    """Text form, JSON form, digest and pickle describe the same recipe, and invalid ones are refused."""
    recipe = nk.ssdeep.DigestRecipe("space+html|ssdeep:notrunc")
    assert "html+space|ssdeep:notrunc" == str(recipe)
    assert ("html", "space") == recipe.normalize
    assert not recipe.truncate
    for other in (
        nk.ssdeep.DigestRecipe(str(recipe)),
        nk.ssdeep.DigestRecipe.from_json(recipe.to_json()),
        pickle.loads(pickle.dumps(recipe)),  # noqa: S301 - our own bytes
        nk.ssdeep.DigestRecipe().with_(normalize=["html", "space"], truncate=False),
    ):
        assert recipe == other
        assert (recipe.digest, hash(recipe)) == (other.digest, hash(other))
    # Saved files contain this form, so it must not change.
    slots = '"eliminate_runs":false,"family":"ssdeep","normalize":[],"truncate":true'
    expected = "{" + slots + ',"versions":{"normalize":1,"recipe":1,"ssdeep":1}}'
    assert expected == nk.ssdeep.DigestRecipe().to_json()
    data = b"<p>some   words</p>\n" * 400
    assert nk.ssdeep.hash(data, truncate=False, normalize=["html", "space"]) == recipe.hash(data)
    for text in ("", "space", "ssdeep:x", "ssdeep:notrunc:notrunc", "space+space|ssdeep", "a|b|ssdeep", "xml|ssdeep"):
        with pytest.raises(ParameterError):
            nk.ssdeep.DigestRecipe(text)
    with pytest.raises(MismatchError, match="recipe slot normalize differs: html\\+space against none"):
        recipe.check_same(nk.ssdeep.DigestRecipe())
    with pytest.raises(MismatchError, match="recipe slot truncate"):
        nk.ssdeep.DigestRecipe().check_same(nk.ssdeep.DigestRecipe("ssdeep:notrunc"))
    with pytest.raises(AttributeError, match="frozen"):
        recipe.truncate = True


def test_a_recipe_names_the_characters_that_must_be_shared(tmp_path: Path) -> None:
    """Text and JSON form contain a length other than 7, which indexes, deduplication and stores refuse."""
    recipe = nk.ssdeep.DigestRecipe("ssdeep:notrunc:common:5")
    assert "ssdeep:notrunc:common:5" == str(recipe) == str(nk.ssdeep.DigestRecipe("ssdeep:common:5:notrunc"))
    assert recipe == nk.ssdeep.DigestRecipe.from_json(recipe.to_json()) != nk.ssdeep.DigestRecipe("ssdeep:notrunc")
    assert nk.ssdeep.DigestRecipe("ssdeep:common:7") == nk.ssdeep.DigestRecipe()
    with pytest.raises(MismatchError, match="recipe slot least_common differs: 5 against 7"):
        recipe.check_same(nk.ssdeep.DigestRecipe("ssdeep:notrunc"))
    assert [0, 93] == [
        nk.ssdeep.DigestRecipe(text).compare("96:abcdeXfghij:", "96:abcdeYfghij:")
        for text in ("ssdeep", "ssdeep:common:5")
    ]
    for text in ("ssdeep:common", "ssdeep:common:x", "ssdeep:common:3", "ssdeep:common:5:common:5", "ssdeep:5"):
        with pytest.raises(ParameterError):
            nk.ssdeep.DigestRecipe(text)
    (tmp_path / "file").write_bytes(b"some bytes" * 500)
    for call in (
        lambda: nk.DigestIndex(recipe=recipe),
        lambda: nk.dedup_files([tmp_path / "file"], recipe=recipe),
        lambda: nk.Store.create(tmp_path / "store", recipe=recipe),
    ):
        with pytest.raises(ParameterError, match="least_common=5 is not allowed; use 7 to search by an index"):
            call()
    assert ["file"] == [path.name for path in tmp_path.iterdir()]


def test_normalised_files_are_hashed_as_their_content(tmp_path: Path) -> None:
    """A path, its bytes and a list of paths have one digest; irregular files are never opened."""
    path = tmp_path / "page.html"
    path.write_bytes(b"<p>some   words</p>\r\n" * 400)
    recipe = nk.ssdeep.DigestRecipe("html+lines+space|ssdeep")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    digest, error, missing = recipe.hash_files([path, fifo, tmp_path / "none"], on_error="return")
    assert digest == recipe.hash(path) == recipe.hash(path.read_bytes())
    assert isinstance(error, InputError)
    assert isinstance(missing, FileNotFoundError)
    with pytest.raises(InputError, match="not a regular file"):
        recipe.hash(fifo)


@given(
    st.lists(st.sampled_from(["html", "lines", "space"]), unique=True),
    st.booleans(),
    st.booleans(),
    st.binary(max_size=99),
)
def test_the_text_form_says_all(steps: list[str], eliminate_runs: bool, truncate: bool, data: bytes) -> None:
    """The text form round-trips, and digests follow its flags."""
    recipe = nk.ssdeep.DigestRecipe().with_(normalize=steps, eliminate_runs=eliminate_runs, truncate=truncate)
    assert recipe == nk.ssdeep.DigestRecipe(str(recipe)) == nk.ssdeep.DigestRecipe.of(str(recipe))
    expected = nk.ssdeep.hash(data, eliminate_runs=eliminate_runs, truncate=truncate, normalize=steps)
    assert expected == recipe.hash(data) == nk.ssdeep.hash(data, **recipe.flags)


def test_of_takes_what_there_is() -> None:
    """A recipe, a text form and None are accepted."""
    recipe = nk.ssdeep.DigestRecipe("space|ssdeep")
    assert recipe is nk.ssdeep.DigestRecipe.of(recipe)
    assert nk.ssdeep.DigestRecipe() == nk.ssdeep.DigestRecipe.of(None)
    with pytest.raises(ParameterError, match="the text form"):
        nk.ssdeep.DigestRecipe(3)  # type: ignore[arg-type]  # the point
    for slot in ({"eliminate_runs": 1}, {"truncate": "yes"}, {"family": "tlsh"}, {"normalize": ["xml"]}):
        with pytest.raises(ParameterError):
            recipe.with_(**slot)
