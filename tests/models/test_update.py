"""A linear_tree takes new labels and texts, and gives labels up, without losing what it knew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import xmtc
from xmtc.data.planted import planted
from xmtc.models.update import add_labels, remove_labels, update

TREE = {"arity": 4, "max_leaf": 4}


@pytest.fixture(scope="module", params=["tfn", "both"])
def model(request):
    settings = {"tree": TREE, "negatives": request.param}
    return xmtc.train("linear_tree", planted(texts=400, labels=40), settings)


def old_answers(model, labels=40, k=3):
    ranking = model.rank(
        planted(texts=400, labels=40).texts, k, np.arange(len(model.labels)) < labels
    )
    return ranking.labels, ranking.scores


def test_a_new_label_is_found_and_the_old_ones_rank_as_before(model):
    examples = xmtc.Dataset.of(
        ["a zebra with stripes", "striped zebra kappa"], [["zebra"], ["zebra"]]
    )
    wider = add_labels(model, examples)
    assert wider.labels.names == (*model.labels.names, "zebra")
    assert wider.trained_on.label_counts[-1] == 2
    for before, after in zip(old_answers(model), old_answers(wider), strict=True):
        assert (before == after).all()
    known = xmtc.Dataset.of(["sign1a sign1b fox", "sign2a fox"], [["fox"], ["fox"]])
    found = xmtc.predict(add_labels(model, known), ["sign1a sign1b sign2a fox"], k=3)[0]
    assert "fox" in {name for name, _ in found}


def test_a_label_can_be_added_by_its_text_alone(model):
    wider = add_labels(model, texts={"both signs": "sign5a sign6a", "plain": "kappa"})
    assert wider.labels.names[-2:] == ("both signs", "plain")
    longer = "sign5a sign6a alpha beta kappa gamma delta"  # which speaks for it more faintly
    assert xmtc.predict(wider, [longer], k=1)[0][0][0] == "both signs"


def test_labels_are_added_by_examples_and_by_text_at_once(model):
    examples = xmtc.Dataset.of(["zebra stripes sign1a", "sign1a zebra"], [["zebra"], ["zebra"]])
    wider = add_labels(model, examples, {"both signs": "sign5a sign6a"})
    assert wider.labels.names[-2:] == ("zebra", "both signs")
    assert wider.trained_on.label_counts[-2:].tolist() == [2, 0]
    assert xmtc.predict(wider, ["sign5a sign6a"], k=1)[0][0][0] == "both signs"


def test_a_label_without_a_text_is_learned_from_its_name(model):
    wider = add_labels(model, texts={"sign5a sign6a": ""})
    assert xmtc.predict(wider, ["sign5a sign6a kappa"], k=1)[0][0][0] == "sign5a sign6a"


def test_a_label_by_text_does_not_answer_texts_without_known_words():
    few = xmtc.train("linear_tree", xmtc.Dataset.of(["a fox", "a hen", "a cow"], ["f", "h", "c"]))
    wider = add_labels(few, texts={"new": "fox hen"})
    for text in ("", "zzz"):
        assert xmtc.predict(wider, [text], k=4)[0][0][0] != "new"


def test_more_examples_than_training_texts_can_be_saved(tmp_path):
    one = xmtc.train("linear_tree", xmtc.Dataset.of(["a fox"], [["fox"]]))
    more = xmtc.Dataset.of(["a hen", "hen fox", "fox"], [["hen"], ["hen"], ["hen"]])
    xmtc.save(add_labels(one, more), tmp_path / "model")
    assert len(xmtc.load(tmp_path / "model").labels) == 2


def test_examples_without_known_words_are_reported(model, caplog):
    add_labels(model, xmtc.Dataset.of(["zzz qqq"], [["new"]]))
    assert "will not find them: 'new'." in caplog.text
    with pytest.raises(xmtc.DataError, match="carry no label"):
        add_labels(model, xmtc.Dataset.of(["sign1a"], [[]]))
    with pytest.raises(xmtc.DataError, match="Dataset"):
        add_labels(model, [("sign1a", ["new"])])


def test_an_update_with_one_text_does_not_forget_examples(model):
    signs = [f"sign{i}a sign{i}b fox kappa" for i in range(1, 9)]
    known = xmtc.Dataset.of(signs, [["fox"]] * 8)
    wider = add_labels(model, known)
    new = xmtc.Dataset.of(["kappa alpha", "sign3a sign3b"], [["fox"], ["label 0003"]])
    updated = update(wider, planted(texts=400, labels=40), new)
    assert updated.trained_on.label_counts[-1] == 8
    before, after = (xmtc.predict(each, ["sign2a fox"], k=40)[0] for each in (wider, updated))
    assert [n for n, _ in after].index("fox") <= [n for n, _ in before].index("fox") + 1


def test_one_name_is_one_label(model):
    assert len(remove_labels(model, "label 0003").labels) == 39


def test_a_label_of_unknown_words_is_refused_or_named_in_a_warning(model, caplog):
    with pytest.raises(xmtc.DataError, match=r"no word .* 'whale' \(0 of 3 words\), 'empty'"):
        add_labels(model, texts={"whale": "hunting of whales", "empty": ""})
    known = {"kappa": "kappa sign1a", "half": "kappa whale"}
    assert len(add_labels(model, texts=known).labels) == 42
    assert not caplog.records
    weak = {f"weak {i}": "whale meat kappa" for i in range(7)}
    assert len(add_labels(model, texts={**known, **weak}).labels) == 49
    assert "'weak 4' (1 of 3 words), and 2 more labels." in caplog.text
    assert "'half'" not in caplog.text


def test_features_of_another_model_are_refused_by_an_update(model):
    old = planted(texts=400, labels=40)
    foreign = xmtc.Dataset((), old.relevant, old.labels, sp.csr_array(np.ones((400, 3), "f4")))
    for labels in (old.labels, xmtc.LabelSpace(tuple(map(str, range(40))))):
        with pytest.raises(xmtc.DataError, match="expected texts, got features"):
            update(model, old, replace(foreign, labels=labels))
    own = model.encoder.encode(old.texts)
    updated = update(model, old, xmtc.Dataset((), old.relevant, old.labels, own))
    assert updated.trained_on.texts == 800


def test_removed_labels_are_gone_and_the_rest_ranks_as_before(model):
    names = model.labels.names
    smaller = remove_labels(model, [names[2], names[7]])
    allowed = ~np.isin(np.arange(40), [2, 7])
    texts = planted(texts=400, labels=40).texts
    before = model.rank(texts, 3, allowed).named(model.labels)
    after = smaller.rank(texts, 3).named(smaller.labels)
    assert len(smaller.labels) == 38
    assert [[n for n, _ in row] for row in before] == [[n for n, _ in row] for row in after]


@pytest.mark.parametrize("search", ["beam", "exact"])
def test_clusters_that_lost_all_labels_do_not_stand_in_the_way(search):
    settings = {"tree": TREE, "beam": 2, "published": {"search": search}}
    whole = xmtc.train("linear_tree", planted(texts=400, labels=40), settings)
    text = "sign1a sign1b sign2a sign2b"
    best = whole.rank([text], 3).labels[0]
    leaves = whole.forests[0].tree.parents[-1]
    gone = np.isin(leaves, leaves[best])  # all that the beam would open
    smaller = remove_labels(whole, [whole.labels.names[label] for label in np.flatnonzero(gone)])
    before = whole.rank([text], 3, ~gone).named(whole.labels)
    assert smaller.rank([text], 3).named(smaller.labels) == before
    assert len(before[0]) == 3


def test_adding_and_removing_leaves_the_model_as_it_was(model, tmp_path):
    again = remove_labels(add_labels(model, texts={"new one": "sign1a"}), ["new one"])
    for name, changed in (("before", model), ("after", again)):
        xmtc.save(changed, tmp_path / name)
    arrays = [(tmp_path / name / "arrays.safetensors").read_bytes() for name in ("before", "after")]
    assert arrays[0] == arrays[1]


def test_an_update_learns_from_new_texts_and_keeps_untouched_nodes(model):
    old = planted(texts=400, labels=40)
    new = planted(texts=40, labels=3, seed=9)
    updated = update(model, old, new)
    assert updated.trained_on.texts == 440
    assert (
        xmtc.evaluate(updated, old).metrics["P@1"] >= xmtc.evaluate(model, old).metrics["P@1"] - 1
    )
    before = model.forests[0]
    after = updated.forests[0]
    same = [
        np.array_equal(before.chunk(n).values, after.chunk(n).values)
        for n in range(before.inner_nodes)
    ]
    assert not same[0]  # every text reaches the root
    if model.config.negatives == "tfn":
        assert any(same)


def test_an_update_can_bring_new_labels(model):
    new = xmtc.Dataset.of(["zebra stripes sign1a", "zebra zoo"] * 5, [["zebra"], ["zebra"]] * 5)
    updated = update(model, planted(texts=400, labels=40), new)
    assert updated.labels.names[-1] == "zebra"
    assert updated.trained_on.label_counts[-1] == 10


def test_a_label_added_without_a_text_survives_an_update(model):
    wider = add_labels(model, texts={"both signs": "sign5a sign6a"})
    updated = update(wider, planted(texts=400, labels=40), planted(texts=40, labels=40, seed=9))
    assert "both signs" in {n for n, _ in xmtc.predict(updated, ["sign5a sign6a"], k=4)[0]}


def test_a_removed_label_stays_away_until_new_texts_bring_it(model):
    old = planted(texts=400, labels=40)
    gone = model.labels.names[5]
    smaller = remove_labels(model, [gone])
    without = old.take(np.flatnonzero(old.relevant[:, [5]].toarray().ravel() == 0)[:20])
    assert gone not in update(smaller, old, without).labels.id_of
    again = xmtc.Dataset.of(["sign5a sign5b"] * 4, [[gone]] * 4)
    updated = update(smaller, old, again)
    assert xmtc.predict(updated, ["sign5a sign5b"], k=1)[0][0][0] == gone


def test_what_cannot_be_done_is_an_error(model):
    old = planted(texts=400, labels=40)
    with pytest.raises(xmtc.DataError, match="no new label"):
        add_labels(model, old)
    with pytest.raises(xmtc.DataError, match="did you mean"):
        remove_labels(model, ["label 01"])
    with pytest.raises(xmtc.DataError, match="all labels"):
        remove_labels(model, model.labels.names)
    with pytest.raises(xmtc.DataError, match="400"):
        update(model, old.take(range(10)), old)
    with pytest.raises(xmtc.ConfigError, match="cannot be changed"):
        add_labels(xmtc.train("most_frequent", old), texts={"x": "y"})
