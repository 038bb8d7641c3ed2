"""What is true of every model in the catalog. A new model must pass this file unchanged, but for
settings that make it quick to train and for what the sets below say of it."""

from __future__ import annotations

import copy
import threading
from functools import cache

import numpy as np
import pytest

import xmtc
from quick import quick_settings
from xmtc.core.arrays import csr
from xmtc.core.ranking import NO_LABEL
from xmtc.data.planted import planted
from xmtc.models.catalog import KINDS

# A model that ignores the text cannot find what was planted in it.
BLIND = {"most_frequent"}
# torch adds numbers up in an order that depends on the threads, and its encoders read texts.
NEURAL = {"lightxml", "gudn", "aplc", "xbert", "xr_transformer", "xml_cnn", "label_attention"}


def every_model_but(*others):
    gone = set().union(*others)
    return pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in gone])


every_model = every_model_but()
every_reading_model = every_model_but(BLIND)


def train(kind, dataset):
    return xmtc.train(kind, dataset, quick_settings(kind))


@cache
def data():
    return planted()


@cache
def trained(kind):
    return train(kind, data())


def same(first, second):
    return (first.labels == second.labels).all() and np.allclose(
        first.scores, second.scores, atol=1e-6
    )


@every_reading_model
def test_the_planted_labels_are_found(kind):
    fresh = planted(seed=1)
    metrics = xmtc.evaluate(trained(kind), fresh).metrics
    assert metrics["P@1"] > 95
    assert metrics["R@5"] > 95


@every_model
def test_rankings_are_best_first_without_repeats_and_in_range(kind):
    ranking = trained(kind).rank(data().texts, k=5)
    assert ranking.labels.shape == ranking.scores.shape == (len(data()), 5)
    assert ranking.labels.dtype == np.int32
    assert ranking.scores.dtype == np.float32
    assert (np.diff(ranking.scores, axis=1) <= 0).all()
    assert ((ranking.labels >= 0) & (ranking.labels < len(data().labels))).all()
    assert all(len(set(row)) == 5 for row in ranking.labels.tolist())


@every_model
def test_equal_scores_rank_by_label_id(kind):
    ranking = trained(kind).rank(["", *data().texts], k=len(data().labels))
    ties = np.diff(ranking.scores, axis=1) == 0
    assert (np.diff(ranking.labels, axis=1)[ties] > 0).all()


@every_model
def test_a_batch_ranks_like_its_texts_one_by_one(kind):
    texts = data().texts[:20]
    alone = xmtc.Ranking.stack([trained(kind).rank([text], k=4) for text in texts])
    assert same(trained(kind).rank(texts, k=4), alone)


@every_model
def test_asking_for_more_labels_than_exist_pads(kind):
    count = len(data().labels)
    ranking = trained(kind).rank(data().texts[:3], k=count + 4)
    assert (ranking.labels[:, :count] != NO_LABEL).all()
    assert (ranking.labels[:, count:] == NO_LABEL).all()
    assert (ranking.scores[:, count:] == -np.inf).all()
    assert len(xmtc.predict(trained(kind), data().texts[:1], k=count + 4)[0]) == count


@every_model
def test_only_allowed_labels_are_returned(kind):
    names = data().labels.names
    some = xmtc.predict(trained(kind), data().texts[:20], k=12, only=names[3:7])
    assert all({name for name, _ in row} == set(names[3:7]) for row in some)
    rest = xmtc.predict(trained(kind), data().texts[:20], k=12, exclude=names[:2])
    assert all({name for name, _ in row} == set(names[2:]) for row in rest)
    all_of_them = trained(kind).rank(data().texts[:20], k=12)
    filtered = [[label for label in row if 3 <= label < 7] for row in all_of_them.labels.tolist()]
    allowed = np.isin(np.arange(12), [3, 4, 5, 6])
    assert trained(kind).rank(data().texts[:20], k=4, allowed=allowed).labels.tolist() == filtered
    with pytest.raises(xmtc.DataError, match="did you mean 'label 0003'"):
        xmtc.predict(trained(kind), ["text"], exclude=["label 003"])


@every_model
def test_no_texts_give_no_rows(kind):
    assert trained(kind).rank([], k=3).labels.shape == (0, 3)


@every_model
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00\x00",
        "never seen before",
        "ΑΣ ΟΔΟΣ",
        "İstanbul",
        "日本語の文章",
        "مرحبا",
        "👍🏽" * 9,
        "\ud800",
        "sign0a " * 150_000,
    ],
    ids=[
        "empty",
        "space",
        "nul",
        "unknown",
        "sigma",
        "dotted-i",
        "cjk",
        "arabic",
        "emoji",
        "lone-surrogate",
        "one-megabyte",
    ],
)
def test_any_text_gets_an_answer(kind, text):
    ranking = trained(kind).rank([text], k=3)
    assert (ranking.labels >= 0).all()
    assert np.isfinite(ranking.scores).all()


@every_model
def test_the_same_seed_gives_the_same_answer(kind):
    again = train(kind, planted())
    assert same(again.rank(data().texts, k=5), trained(kind).rank(data().texts, k=5))


@every_model_but(NEURAL)
def test_the_number_of_threads_does_not_change_the_answer(kind):
    xmtc.set_threads(1)
    alone = train(kind, data()).rank(data().texts, k=5)
    xmtc.set_threads(3)
    together = train(kind, data()).rank(data().texts, k=5)
    assert (alone.labels == together.labels).all()
    assert (alone.scores == together.scores).all()


@every_model
def test_saved_and_loaded_ranks_the_same(kind, tmp_path):
    xmtc.save(trained(kind), tmp_path / "model")
    loaded = xmtc.load(tmp_path / "model")
    assert loaded.kind == kind
    assert loaded.labels == data().labels
    before, after = (model.rank(data().texts, k=5) for model in (trained(kind), loaded))
    assert (before.labels == after.labels).all()
    assert (before.scores == after.scores).all()


@every_model
def test_saving_twice_gives_the_same_bytes(kind, tmp_path):
    for name in ("first", "second"):
        xmtc.save(trained(kind), tmp_path / name)
    for file in ("manifest.json", "arrays.safetensors", "labels.jsonl"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()


@every_model
def test_renumbering_the_labels_only_renumbers_the_answer(kind):
    # Only the clearly best label: numeric noise may reorder labels that score almost the same.
    permutation = np.random.default_rng(0).permutation(len(data().labels)).astype(np.int32)
    renumbered = _renumbered(data(), permutation)
    plain = trained(kind).rank(data().texts, k=1)
    other = train(kind, renumbered).rank(data().texts, k=1)
    clear = _clear_winners(trained(kind))
    assert clear.mean() > 0.3  # half of the texts carry one label only
    assert (other.labels[clear] == permutation[plain.labels[clear]]).all()


@every_model
def test_training_leaves_the_data_untouched(kind):
    mine = planted(texts=60, labels=6)
    before = copy.deepcopy((list(mine.texts), mine.relevant.toarray(), mine.labels))
    train(kind, mine)
    assert list(mine.texts) == before[0]
    assert (mine.relevant.toarray() == before[1]).all()
    assert mine.labels == before[2]


@every_model
def test_predicting_leaves_the_model_untouched(kind, tmp_path):
    model = train(kind, data())
    xmtc.save(model, tmp_path / "before")
    model.rank(data().texts, k=5)
    xmtc.save(model, tmp_path / "after")
    assert (tmp_path / "before/arrays.safetensors").read_bytes() == (
        tmp_path / "after/arrays.safetensors"
    ).read_bytes()


@every_model
def test_threads_can_share_a_model(kind):
    model = trained(kind)
    texts = data().texts
    expected = model.rank(texts, k=3)
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(model.rank(texts, k=3))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6
    assert all((answer.labels == expected.labels).all() for answer in answers)


@every_reading_model
def test_labels_that_occur_once_can_be_learned(kind):
    once = xmtc.Dataset.of(
        [*data().texts, "a zebra crossing with zebra stripes"], [*_named(data()), ["zebra"]]
    )
    assert xmtc.predict(train(kind, once), ["zebra stripes"], k=1)[0][0][0] == "zebra"


@every_model
def test_texts_without_labels_do_no_harm(kind):
    bare = xmtc.Dataset.of([*data().texts, "nothing at all", ""], [*_named(data()), [], []])
    model = train(kind, bare)
    assert model.trained_on.texts == len(data()) + 2
    assert (model.rank(data().texts, k=1).labels >= 0).all()


@every_model
def test_one_text_with_one_label_is_enough(kind):
    model = train(kind, xmtc.Dataset.of(["the only text"], [["the only label"]]))
    assert xmtc.predict(model, ["the only text"], k=3)[0][0][0] == "the only label"


@every_model
@pytest.mark.parametrize("labels", [[[], []], []], ids=["no-labels", "no-texts"])
def test_nothing_to_learn_from_is_an_error_that_says_so(kind, labels):
    empty = xmtc.Dataset.of(["a text"] * len(labels), labels)
    with pytest.raises(xmtc.DataError, match=r"has no texts|no training text has a label"):
        train(kind, empty)


@every_model_but(BLIND, NEURAL)
def test_a_feature_matrix_is_as_good_as_texts(kind, tmp_path):
    full = data()
    _, features = _encoded(full)
    without = xmtc.Dataset((), full.relevant, full.labels, features)
    model = train(kind, without)
    assert xmtc.evaluate(model, without).metrics["P@1"] > 95
    xmtc.save(model, tmp_path / "model")
    assert same(xmtc.load(tmp_path / "model").rank(features, k=3), model.rank(features, k=3))
    with pytest.raises(xmtc.DataError, match="cannot read texts"):
        model.rank(["a text"], k=3)


@pytest.mark.parametrize("kind", sorted(NEURAL))
def test_a_model_that_reads_texts_refuses_a_feature_matrix(kind):
    _, features = _encoded(data())
    with pytest.raises(xmtc.DataError, match="expected texts, got a feature matrix"):
        train(kind, xmtc.Dataset((), data().relevant, data().labels, features))
    with pytest.raises(xmtc.DataError, match="expected texts, got a feature matrix"):
        trained(kind).rank(features, k=3)


def _encoded(dataset):
    from xmtc.text import tfidf

    return tfidf.learn(dataset.texts, tfidf.TfidfConfig())


def _named(dataset):
    relevant = dataset.relevant
    names = dataset.labels.names
    return [
        [
            names[label]
            for label in relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
        ]
        for row in range(len(dataset))
    ]


def _renumbered(dataset, permutation):
    names = np.empty(len(permutation), dtype=object)
    names[permutation] = dataset.labels.names
    relevant = dataset.relevant
    moved = csr(relevant.data, permutation[relevant.indices], relevant.indptr, len(permutation))
    moved.sort_indices()
    return xmtc.Dataset(dataset.texts, moved, xmtc.LabelSpace(tuple(names)))


def _clear_winners(model):
    scores = model.rank(data().texts, k=2).scores
    return scores[:, 0] - scores[:, 1] > 0.05
