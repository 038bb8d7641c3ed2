"""train, predict, evaluate, save and load, as a user types them."""

from __future__ import annotations

import numpy as np
import pytest

import xmtc
from xmtc.data.planted import planted
from xmtc.models import one_vs_all


@pytest.fixture(scope="module")
def model():
    return xmtc.train("one_vs_all", planted())


def test_settings_come_as_config_dict_or_keywords():
    config = one_vs_all.Config(svm=one_vs_all.SvmConfig(cost=2.0))
    ways = [
        xmtc.train("one_vs_all", planted(), config),
        xmtc.train("one_vs_all", planted(), {"svm": {"cost": 2}}),
        xmtc.train("one_vs_all", planted(), svm={"cost": 2}),
        xmtc.train("one_vs_all", planted(), {"svm": {"cost": 9}}, svm={"cost": 2}),
        one_vs_all.train(planted(), config),
    ]
    rankings = [way.rank(planted().texts, 3) for way in ways]
    assert all((ranking.scores == rankings[0].scores).all() for ranking in rankings)
    assert all(way.config == config for way in ways)


def test_predict_gives_names_and_scores_best_first(model):
    dataset = planted()
    rows = xmtc.predict(model, dataset.texts[:10], k=3)
    assert [len(row) for row in rows] == [3] * 10
    assert all(isinstance(name, str) and isinstance(score, float) for name, score in rows[0])
    assert rows[0][0][0] in dataset.labels.names


def test_a_threshold_leaves_out_what_scores_lower(model):
    for row in xmtc.predict(model, planted().texts[:10], k=12, threshold=0.5):
        assert all(score >= 0.5 for _, score in row)
    assert xmtc.predict(model, ["nothing known"], threshold=2.0) == [[]]


def test_a_single_string_is_an_error_that_says_how(model):
    with pytest.raises(xmtc.DataError, match="list of texts"):
        xmtc.predict(model, "olive oil")


def test_k_must_be_positive(model):
    with pytest.raises(xmtc.ConfigError, match="k=0"):
        xmtc.predict(model, ["text"], k=0)


def test_a_threshold_must_be_a_number(model):
    with pytest.raises(xmtc.ConfigError, match="threshold='x': must be a number"):
        xmtc.predict(model, ["text"], threshold="x")
    assert xmtc.predict(model, ["text"], threshold=np.float32(2)) == [[]]


def test_a_model_is_no_folder_to_load(model):
    with pytest.raises(xmtc.ConfigError, match="expected a model's folder, got OneVsAll"):
        xmtc.load(model)


@pytest.mark.parametrize(("name", "hint"), [("LABEL 3", "mean 'label 0003'"), ("nope", "'nope'.$")])
def test_a_label_that_is_not_there_gets_a_hint_where_one_is_near(model, name, hint):
    for asked in ({"only": [name]}, {"exclude": [name]}):
        with pytest.raises(xmtc.DataError, match=hint):
            xmtc.predict(model, ["text"], **asked)


def test_labels_never_seen_count_as_misses(model):
    dataset = planted(seed=4)
    known = xmtc.evaluate(model, dataset).metrics
    names = [[*row, "never seen"] for row in _named(dataset)]
    wider = xmtc.evaluate(model, xmtc.Dataset.of(dataset.texts, names)).metrics
    assert wider["P@1"] == pytest.approx(known["P@1"])
    assert wider["R@5"] < known["R@5"]


def test_a_test_set_that_no_answer_can_fit_is_refused(model):
    with pytest.raises(xmtc.DataError, match=r"none of the 2 labels .* '7', is one of the"):
        xmtc.evaluate(model, xmtc.Dataset.of(["sign1a", "sign2a"], [["8", "7"], []]))
    unused = planted().take(range(3))
    unused = xmtc.Dataset(unused.texts, unused.relevant * 0, unused.labels)
    with pytest.raises(xmtc.DataError, match="no text of the test set has a label"):
        xmtc.evaluate(model, unused)


def test_label_names_decide_not_their_order(model):
    dataset = planted(seed=5)
    shuffled = xmtc.LabelSpace(tuple(reversed(dataset.labels.names)))
    turned = xmtc.Dataset(dataset.texts, dataset.relevant[:, ::-1], shuffled)
    assert xmtc.evaluate(model, turned).metrics == xmtc.evaluate(model, dataset).metrics


def test_an_unknown_kind_or_setting_gets_a_hint():
    with pytest.raises(xmtc.ConfigError, match="did you mean 'one_vs_all'"):
        xmtc.train("one_vs_al", planted())
    with pytest.raises(xmtc.ConfigError, match=r"svm.costs.*did you mean 'svm.cost'"):
        xmtc.train("one_vs_all", planted(), svm={"costs": 2})


def test_a_folder_of_an_unknown_kind_is_refused(model, tmp_path, monkeypatch):
    monkeypatch.setitem(xmtc.models.catalog.KINDS, "from_the_future", ("xmtc.models.x", "X"))
    future = type("Future", (), {"kind": "from_the_future", "to_parts": model.to_parts})()
    xmtc.save(future, tmp_path / "model")
    monkeypatch.delitem(xmtc.models.catalog.KINDS, "from_the_future")
    with pytest.raises(xmtc.StoreError, match="does not know"):
        xmtc.load(tmp_path / "model")


def _named(dataset):
    relevant = dataset.relevant
    return [
        [
            dataset.labels.names[j]
            for j in relevant.indices[relevant.indptr[i] : relevant.indptr[i + 1]]
        ]
        for i in range(len(dataset))
    ]


def test_what_is_not_a_data_set_or_a_text_is_named(model):
    with pytest.raises(xmtc.DataError, match="read_dataset"):
        xmtc.train("one_vs_all", "books.jsonl")
    with pytest.raises(xmtc.ConfigError, match=r"Dataset\.of"):
        xmtc.train("one_vs_all", planted(), ["a label"])
    with pytest.raises(xmtc.DataError, match="expected a Dataset"):
        xmtc.evaluate(model, ["a"])
    with pytest.raises(xmtc.DataError, match="text 1: expected a string, got None"):
        xmtc.predict(model, ["olive oil", None])


def test_things_say_what_they_are_in_a_few_words(model):
    assert repr(planted()) == "Dataset(200 texts, 12 labels)"
    assert repr(model) == "one_vs_all(12 labels, 200 texts)"
    assert "12 labels: 'label 0000'" in repr(model.labels)
    assert "P@1" in str(xmtc.evaluate(model, planted()))


def test_any_number_of_labels_can_be_asked_for(model):
    assert len(xmtc.predict(model, ["sign1a"], k=10**12)[0]) == 12


def test_labels_in_one_string_are_cut_where_asked():
    cut = xmtc.Dataset.of(["a", "b"], ["trade; fish", "oil"], label_separator=";")
    assert cut.labels.names == ("fish", "oil", "trade")


def test_filtered_pairs_are_taken_out_before_cutting(model):
    dataset = planted(seed=6)
    best = model.rank(dataset.texts, 1).labels[:, 0]
    names = [dataset.labels.id_of[model.labels.names[label]] for label in best]
    pairs = np.stack([np.arange(len(dataset)), names], axis=1).astype(np.int32)
    second = model.rank(dataset.texts, 2).labels[:, 1]
    relevant = dataset.named_in(model.labels).relevant.toarray()
    expected = 100 * relevant[np.arange(len(dataset)), second].mean()
    assert xmtc.evaluate(model, dataset, (1,), without=pairs).metrics["P@1"] == pytest.approx(
        expected
    )


def test_one_nested_setting_leaves_the_others_at_their_defaults():
    from xmtc.models import linear_tree

    model = xmtc.train("linear_tree", planted(), tree={"arity": 4})
    assert model.config.tree.arity == 4
    assert model.config.tree.max_leaf == linear_tree.Config().tree.max_leaf == 100


def test_a_threshold_decides_upon_all_labels_whatever_k():
    many = [[f"label {n}" for n in range(8)]] * 20
    data = xmtc.Dataset.of([f"the same text {n}" for n in range(20)], many)
    model = xmtc.train("most_frequent", data)
    for ks in ((1,), (1, 3, 5)):
        assert xmtc.evaluate(model, data, ks, threshold=0.5).metrics["micro F1"] == 100


def test_k_is_a_whole_number_of_any_kind_and_a_threshold_a_number():
    model = xmtc.train("most_frequent", planted(labels=5))
    assert len(xmtc.predict(model, ["a"], k=np.int64(2))[0]) == 2
    for wrong in ({"k": True}, {"k": 0}, {"k": 1.5}, {"threshold": float("nan")}):
        with pytest.raises(xmtc.ConfigError, match=next(iter(wrong))):
            xmtc.predict(model, ["a"], **wrong)
