"""A label space maps names to ids and back, and never moves an id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace

NAMES = st.lists(st.text(max_size=4), unique=True).map(tuple)


@given(NAMES)
def test_names_and_ids_are_each_others_inverse(names):
    space = LabelSpace(names)
    assert len(space) == len(names)
    assert [space.id_of[name] for name in names] == list(range(len(names)))
    assert all(space.text_of(label) == name for label, name in enumerate(names))


@given(NAMES, st.lists(st.text(max_size=4)))
def test_extending_keeps_all_ids_and_adds_what_is_new_once(names, more):
    space = LabelSpace(names, tuple("text of " + name for name in names))
    wide = space.extended_by(more)
    assert wide.names[: len(names)] == names
    assert wide.names[len(names) :] == tuple(dict.fromkeys(n for n in more if n not in names))
    assert wide.texts[: len(names)] == space.texts
    assert set(wide.texts[len(names) :]) <= {""}
    assert wide.extended_by(more) == wide
    assert LabelSpace(names).extended_by(more).texts is None


@given(NAMES, st.dictionaries(st.text(max_size=4), st.text()))
def test_a_label_says_its_text_or_else_its_name(names, texts):
    space = LabelSpace(names).with_texts(texts)
    for label, name in enumerate(names):
        assert space.text_of(label) == (texts.get(name) or name)


@given(NAMES.filter(bool), st.data())
def test_a_name_that_occurs_twice_is_named(names, data):
    twice = data.draw(st.sampled_from(names))
    with pytest.raises(DataError) as error:
        LabelSpace((*names, twice))
    assert repr(twice) in str(error.value)


@pytest.mark.parametrize("texts", [(), ("x",), ("x", "y", "z")])
def test_there_must_be_one_text_per_label(texts):
    with pytest.raises(DataError, match=f"{len(texts)} label texts for 2 labels"):
        LabelSpace(("a", "b"), texts)
