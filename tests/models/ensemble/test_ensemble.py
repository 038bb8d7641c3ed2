"""Several models as one: the published rules, weights that never do harm, one folder."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xmtc
from xmtc.core import store
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.data.planted import planted
from xmtc.models import ensemble, most_frequent
from xmtc.models.ensemble.combine import best_weights, merge
from xmtc.text import tfidf

ORACLE = {  # spec 8.9, and what we divide by to stay between 0 and 1
    "average": ({1: 0.65, 0: 0.55, 3: 0.30, 2: 0.05}, 1),
    "logit": ({1: 0.66662501, 0: 0.59993838, 3: 0.01209817, 2: 0.00332356}, 1),  # ours, by hand
    "rank_average": ({1: 2.5, 0: 2.0, 3: 1.0, 2: 0.5}, 3),
    "round_robin": ({0: 11 / 6, 1: 5 / 3, 3: 7 / 6, 2: 5 / 6}, 2),
    "softmax": ({1: 0.36930999, 0: 0.35179134, 3: 0.17290731, 2: 0.10599136}, 1),
    "sigmoid": ({1: 0.65621691, 0: 0.63039175, 3: 0.32282815, 2: 0.26248959}, 1),
}
HOWS = sorted(ORACLE)
every_how = pytest.mark.parametrize("how", HOWS)


def ranking(row, places=3):
    ordered = sorted(row.items(), key=lambda pair: -pair[1])
    scores = np.array([[score for _, score in ordered]], np.float32)
    return Ranking(np.array([[label for label, _ in ordered]], np.int32), scores).top(places)


FIRST = ranking({0: 0.9, 1: 0.5, 2: 0.1})
SECOND = ranking({1: 0.8, 3: 0.6, 0: 0.2})
EQUAL = np.array([0.5, 0.5])


@cache
def members():
    data = planted()
    return tuple(xmtc.train(kind, data) for kind in ("linear_tree", "most_frequent", "one_vs_all"))


@every_how
def test_the_rules_give_what_the_papers_code_gives(how):
    expected, constant = ORACLE[how]
    found = merge([FIRST, SECOND], 4, how, EQUAL, "zero")
    assert found.labels[0].tolist() == list(expected)
    scale = 4 / 2 if how == "round_robin" else constant  # (longest + 1) / members
    assert found.scores[0] * scale == pytest.approx(list(expected.values()), abs=1e-6)


@every_how
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_scores_from_0_to_1_stay_there_and_every_label_comes_once(how, data):
    rows = st.dictionaries(st.integers(0, 9), st.floats(0, 1, width=32), max_size=6)
    parts = [ranking(data.draw(rows), 6) for _ in range(3)]
    raw = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=3, max_size=3)))
    found = merge(parts, 12, how, raw / raw.sum())
    ranked = found.labels[found.labels != NO_LABEL].tolist()
    assert sorted(ranked) == sorted(
        {label for part in parts for label in part.labels[0].tolist()} - {NO_LABEL}
    )
    scores = found.scores[found.labels != NO_LABEL]
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores) <= 0).all()


def test_weights_shift_the_average():
    found = merge([FIRST, SECOND], 2, "average", np.array([0.8, 0.2]), "zero")
    assert found.labels.tolist() == [[0, 1]]
    assert found.scores[0] == pytest.approx([0.8 * 0.9 + 0.2 * 0.2, 0.8 * 0.5 + 0.2 * 0.8])


def test_a_member_without_weight_does_not_enter():
    alone = merge([SECOND, FIRST], 4, "average", np.array([1.0, 0.0]))
    assert alone.labels.tolist() == [[1, 3, 0, NO_LABEL]]


def test_a_label_that_a_member_did_not_rank_counts_as_much_as_its_last():
    found = merge([FIRST, SECOND], 4, "average", EQUAL)
    assert found.labels.tolist() == [[1, 0, 3, 2]]
    assert found.scores[0] == pytest.approx([0.65, 0.55, (0.1 + 0.6) / 2, (0.1 + 0.2) / 2])
    short = ranking({1: 0.8, 3: 0.6}, 3)  # it had a place left: what it leaves out, it rules out
    found = merge([FIRST, short], 4, "average", EQUAL)
    assert dict(zip(found.labels[0].tolist(), found.scores[0].tolist(), strict=True)) == (
        pytest.approx({1: 0.65, 0: 0.45, 3: 0.35, 2: 0.05})
    )


@pytest.mark.parametrize("missing", ["floor", "zero"])
def test_only_members_that_know_a_label_are_asked(missing):
    known = np.array([[True, True, True, False], [True, True, False, True]])
    found = merge([FIRST, SECOND], 4, "average", EQUAL, missing, known)
    assert found.labels.tolist() == [[1, 3, 0, 2]]
    assert found.scores[0] == pytest.approx([0.65, 0.6, 0.55, 0.1])


@every_how
def test_a_model_combined_with_itself_ranks_as_before(how):
    member = members()[0]
    texts = planted().texts
    twice = ensemble.of([member, member], ensemble.Config(how=how))
    assert (twice.rank(texts, 5).labels == member.rank(texts, 5).labels).all()


def test_the_average_is_the_mean_of_the_members_scores():
    texts, (tree, _, single) = planted(seed=3).texts[:30], members()
    both = ensemble.of([tree, single]).rank(texts, 4)
    wide = [model.rank(texts, 12) for model in (tree, single)]
    for row in range(len(texts)):
        mean = np.zeros(12)
        for part in wide:
            mean[part.labels[row]] += part.scores[row] / 2
        assert both.scores[row] == pytest.approx(mean[both.labels[row]], abs=1e-6)
        assert both.scores[row][0] == pytest.approx(mean.max(), abs=1e-6)


def test_how_deep_members_rank_does_not_depend_on_k_up_to_the_depth():
    both = ensemble.of(members(), ensemble.Config(how="rank_average"))
    texts = planted(seed=3).texts
    few = both.rank(texts, 2)
    many = both.rank(texts, 6)
    assert (few.labels == many.labels[:, :2]).all()
    assert (few.scores == many.scores[:, :2]).all()


@pytest.fixture
def different_labels():
    """Two models that share one of their labels."""
    old = xmtc.Dataset.of(
        ["fresh fish", "red wine", "fish soup"] * 4, [["fish"], ["wine"], ["fish"]] * 4
    )
    new = xmtc.Dataset.of(
        ["fish market", "stock exchange"] * 5,
        [["fish"], ["stocks"]] * 5,
        label_texts={"stocks": "shares of companies"},
    )
    return [xmtc.train("one_vs_all", old), xmtc.train("linear_tree", new)]


def test_members_may_know_different_labels(different_labels, tmp_path):
    both = ensemble.of(different_labels)
    assert both.labels.names == ("fish", "wine", "stocks")
    assert both.labels.text_of(2) == "shares of companies"
    assert both.trained_on.texts == 12
    assert both.trained_on.label_counts.tolist() == [8, 4, 5]
    texts = ["fresh fish", "red wine", "stock exchange"]
    rows = xmtc.predict(both, texts, k=5)
    assert [row[0][0] for row in rows] == ["fish", "wine", "stocks"]
    assert all(len(row) == 3 for row in rows)
    wine = dict(xmtc.predict(different_labels[0], texts[1:2], k=3)[0])["wine"]
    assert dict(rows[1])["wine"] == pytest.approx(wine)  # not halved by a model without it
    assert [name for name, _ in xmtc.predict(both, texts[:1], only=["wine"])[0]] == ["wine"]
    xmtc.save(both, tmp_path / "both")
    loaded = xmtc.load(tmp_path / "both")
    assert loaded.labels == both.labels
    assert [member.labels.names for member in loaded.members] == [
        ("fish", "wine"),
        ("fish", "stocks"),
    ]
    assert xmtc.predict(loaded, texts, k=5) == rows


def test_a_saved_ensemble_holds_its_members_whole(tmp_path):
    inner = ensemble.of(members()[:2], ensemble.Config(how="softmax"))
    outer = ensemble.of([inner, members()[2]], ensemble.Config(weights=(0.25, 0.75), depth=7))
    xmtc.save(outer, tmp_path / "model")
    loaded = xmtc.load(tmp_path / "model")
    assert loaded.config == outer.config
    assert loaded.config.members == ("ensemble", "one_vs_all")
    assert loaded.members[0].config == inner.config
    assert [member.kind for member in loaded.members[0].members] == ["linear_tree", "most_frequent"]
    assert loaded.members[1].config == members()[2].config
    before, after = (model.rank(planted(seed=2).texts, 5) for model in (outer, loaded))
    assert (before.labels == after.labels).all()
    assert (before.scores == after.scores).all()


def described(values, /, **change):
    values["trained"]["0"] |= change


@pytest.mark.parametrize(
    "forge",
    [
        lambda settings, arrays: settings.pop("trained"),
        lambda settings, arrays: settings.update(trained={"1": {}}),
        lambda settings, arrays: settings.update(weights=[0.5, 0.25, 0.25]),
        lambda settings, arrays: settings.update(weights=[2.0, -1.0]),
        lambda settings, arrays: described(settings, kind="os.system"),
        lambda settings, arrays: described(settings, kind="ensemble"),
        lambda settings, arrays: described(settings, texts=1),
        lambda settings, arrays: described(settings, texts=True),
        lambda settings, arrays: described(settings, sources=[{"path": 3}]),
        lambda settings, arrays: described(settings, settings={"trees": 0}),
        lambda settings, arrays: arrays.update(labels0=arrays["labels0"] + np.int32(1)),
        lambda settings, arrays: arrays.update(labels0=arrays["labels0"] * np.int32(0)),
        lambda settings, arrays: arrays.update(counts0=arrays["counts0"][:-1]),
        lambda settings, arrays: arrays.pop("member0/depths"),
    ],
)
def test_a_forged_ensemble_is_refused(forge, tmp_path):
    parts = ensemble.of(members()[:2]).to_parts()
    store.write("ensemble", parts, tmp_path / "model")
    xmtc.load(tmp_path / "model")
    forge(parts.settings, parts.arrays)
    store.write("ensemble", parts, tmp_path / "model", overwrite=True)
    with pytest.raises(xmtc.StoreError):
        xmtc.load(tmp_path / "model")


def mixed(seed, share=0.5):
    """Planted texts, some of them with the labels of another text: nothing ranks them all."""
    data = planted(texts=120, seed=seed)
    rng = np.random.default_rng(seed)
    moved = np.where(
        rng.random(len(data)) < share, rng.permutation(len(data)), np.arange(len(data))
    )
    return replace(data, relevant=data.relevant[moved])


@pytest.mark.parametrize("metric", ["P@1", "P@5", "nDCG@5", "PSP@5"])
@pytest.mark.parametrize("how", [how for how in HOWS if how != "round_robin"])
def test_learned_weights_are_never_worse_than_the_average_or_a_member(how, metric):
    config = ensemble.Config(how=how, metric=metric)
    for seed in (4, 5):
        validation = mixed(seed)
        model = ensemble.learned(members(), validation, config)
        reached = xmtc.evaluate(model, validation).metrics[metric]
        others = [ensemble.of(members(), config), *(ensemble.of([m], config) for m in members())]
        for other in others:
            assert reached >= xmtc.evaluate(other, validation).metrics[metric] - 1e-6
        assert (model.weights >= 0).all()
        assert model.weights.sum() == pytest.approx(1)


def test_a_member_that_only_does_harm_is_left_out():
    right = members()[2]
    wrong = xmtc.train("one_vs_all", mixed(9, share=1.0))
    validation = planted(texts=60, seed=6)
    model = ensemble.learned([wrong, right], validation)
    best = max(xmtc.evaluate(each, validation).metrics["P@5"] for each in (wrong, right))
    assert xmtc.evaluate(model, validation).metrics["P@5"] >= best
    assert any(member is right for member in model.members)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(any))
@settings(max_examples=30, deadline=None)
def test_the_search_comes_near_the_best_weights(target):
    wanted = np.array(target) / sum(target)
    found = best_weights(lambda weights: -float(np.abs(weights - wanted).sum()), len(wanted))
    assert min(found.weights) >= 0
    assert sum(found.weights) == pytest.approx(1)
    assert found.figure >= max(found.equal, *found.alone)
    if len(wanted) == 2:
        assert np.array(found.weights) == pytest.approx(wanted, abs=0.026)


def test_equal_weights_stay_where_nothing_is_better():
    found = best_weights(lambda weights: 1.0, 3)
    assert found.weights == pytest.approx((1 / 3,) * 3)


def test_training_an_ensemble_trains_its_members():
    data = planted()
    model = xmtc.train("ensemble", data, members=["most_frequent", "one_vs_all"], validation=0.2)
    assert {member.kind for member in model.members} <= {"most_frequent", "one_vs_all"}
    assert model.trained_on.texts == 160
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 95


def test_members_are_kinds_or_presets_with_settings_of_their_own():
    members = ["linear_tree trees=2 tree.max_leaf=3", "linear_tree beam=3"]
    model = xmtc.train("ensemble", planted(), members=members)
    first, second = model.members
    assert (first.config.trees, first.config.tree.max_leaf, len(first.forests)) == (2, 3, 2)
    assert (second.config.trees, second.config.beam) == (1, 3)


def test_each_member_has_a_part_of_the_run(monkeypatch):
    parts = []
    real = most_frequent.train

    def train(dataset, config, run):
        parts.append(run.part)
        return real(dataset, config, run)

    monkeypatch.setattr(most_frequent, "train", train)
    xmtc.train("ensemble", planted(), members=["most_frequent", "most_frequent"])
    assert parts == [("member0",), ("member1",)]


def test_an_explanation_comes_from_a_member_that_can_give_one(different_labels):
    both = ensemble.of([members()[1], members()[0]])
    reasons = xmtc.explain(both, "sign3a sign3b", k=1)
    assert reasons[0].label == "label 0003"
    assert {term for term, _ in reasons[0].path[-1].terms} == {"sign3a", "sign3b"}
    assert reasons[0].path[-1].by == f"{members()[0].kind}, member 2 of 2"
    around = xmtc.explain(ensemble.of([both, members()[1]]), "sign3a sign3b", k=1)[0]
    assert around.path[-1].by == f"ensemble, member 1 of 2: {members()[0].kind}, member 2 of 2"
    assert xmtc.explain(ensemble.of(different_labels), "stock exchange", k=1)[0].label == "stocks"
    with pytest.raises(
        xmtc.ConfigError, match=r"no member .*most_frequent.* can explain 'label 00"
    ):
        xmtc.explain(ensemble.of([members()[1]]), "sign3a", k=1)
    with pytest.raises(xmtc.ConfigError, match="cannot be changed"):
        xmtc.remove_labels(both, ["label 0003"])


def test_members_that_no_input_suits_are_refused_and_a_member_that_cannot_read_is_named():
    plain = planted()
    _, features = tfidf.learn(plain.texts, tfidf.TfidfConfig())
    blind = xmtc.train("one_vs_all", xmtc.Dataset((), plain.relevant, plain.labels, features))
    seeing, floor = members()[:2]
    with pytest.raises(xmtc.ConfigError, match="one was trained on texts and another on a feature"):
        ensemble.of([seeing, ensemble.of([floor, blind])])
    both = ensemble.of([floor, blind])
    assert both.rank(features, 3).labels.shape == (len(plain), 3)
    with pytest.raises(xmtc.DataError, match=r"the ensemble's one_vs_all: .*cannot read texts"):
        both.rank(["a text"], 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ensemble.of([]), "at least one trained model"),
        (lambda: ensemble.of(["runs/olive"]), "trained models, not a str"),
        (
            lambda: ensemble.of(members(), ensemble.Config(weights=(0.5, 0.5))),
            "one for each of the 3 models",
        ),
        (lambda: ensemble.Config(weights=(0.5, 0.6)), "must sum to 1"),
        (lambda: ensemble.Config(weights=(1.5, -0.5)), "must not be negative"),
        (lambda: ensemble.Config(how="round_robin", weights=(1.0,)), "round_robin has no weights"),
        (lambda: ensemble.Config(how="round_robin", validation=0.1), "round_robin has no weights"),
        (lambda: ensemble.Config(weights=(0.5, 0.5), validation=0.1), "given or learned"),
        (
            lambda: xmtc.train("ensemble", planted(), weights=(1.0,)),
            "one for each of the 2 members",
        ),
        (lambda: ensemble.Config(members=("no_such",)), "no kind or preset 'no_such'"),
        (lambda: ensemble.Config(members=("linear_tree beams=2",)), "did you mean 'beam'"),
        (lambda: ensemble.Config(members=()), "at least one kind or preset"),
        (
            lambda: ensemble.learned(members(), planted(), ensemble.Config(how="round_robin")),
            "could be learned",
        ),
        (
            lambda: ensemble.learned(
                members(), planted(), ensemble.Config(weights=(0.5, 0.3, 0.2))
            ),
            "drop one of the two",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(make, message):
    with pytest.raises(xmtc.ConfigError, match=message):
        make()


def test_weights_cannot_be_learned_from_texts_without_labels():
    with pytest.raises(xmtc.DataError, match="weights cannot be learned"):
        ensemble.learned(members(), xmtc.Dataset.of(["a text"], [[]]))


def test_ensembles_in_ensembles_have_an_end(tmp_path):
    model = ensemble.of([members()[1]])
    for _ in range(ensemble.MAX_NESTING - 1):
        model = ensemble.of([model])
    xmtc.save(model, tmp_path / "deep")
    assert json.loads((tmp_path / "deep" / "manifest.json").read_text())["kind"] == "ensemble"
    assert (xmtc.load(tmp_path / "deep").rank(["text"], 3).labels >= 0).all()
    with pytest.raises(xmtc.ConfigError, match="4 deep"):
        ensemble.of([model])
