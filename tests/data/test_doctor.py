"""Doctor: each planted illness is found, and a healthy data set has none."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core.arrays import csr_of_rows
from xmtc.core.dataset import Dataset
from xmtc.core.labels import LabelSpace
from xmtc.core.threads import set_threads
from xmtc.data.doctor import examine
from xmtc.data.duplicates import find_repeats, folded
from xmtc.kernels.minhash import overlap

words = st.sampled_from(["sea", "Sea", "fish", "oil", "tax", "law", "und", "Öl"])
texts = st.lists(words, max_size=12).map(" ".join)


def random_text(seed, length=200):
    rng = np.random.default_rng(seed)
    return " ".join(f"word{number}" for number in rng.integers(0, 10_000, length))


def changed(text, places):
    """The same text with other words at `places`."""
    pieces = text.split()
    for place in places:
        pieces[place] = f"other{place}"
    return " ".join(pieces)


def found(diagnosis):
    return {finding.kind: finding for finding in diagnosis.findings}


def naive_overlap(first, second):
    def runs(text):
        pieces = folded(text).split()
        if len(pieces) < 3:
            return {tuple(pieces)} if pieces else set()
        return {tuple(pieces[at : at + 3]) for at in range(len(pieces) - 2)}

    one = runs(first)
    other = runs(second)
    return len(one & other) / max(1, len(one | other))


@settings(deadline=None)
@given(texts, texts)
def test_overlap_equals_comparing_sets_of_three_word_runs(first, second):
    arrays = [np.frombuffer(folded(text), np.uint8) for text in (first, second)]
    assert overlap(*arrays) == pytest.approx(naive_overlap(first, second))


@settings(deadline=None)
@given(st.lists(texts, max_size=12), st.lists(texts, max_size=4))
def test_repeats_are_real_and_come_from_earlier_training_texts(training, test):
    repeats = find_repeats(training, test)
    everything = [*training, *test]
    for row, text in enumerate(everything):
        same = repeats.exact[row]
        near = repeats.near[row]
        assert repeats.words[row] == len(text.split())
        earlier = [i for i in range(min(row, len(training))) if words_of(training[i], text)]
        assert same == (earlier[0] if earlier else -1)
        assert -1 <= near < min(row, len(training))
        if near >= 0:
            assert naive_overlap(text, everything[near]) >= 0.9


def words_of(first, second):
    return bool(first.split()) and first.casefold().split() == second.casefold().split()


def test_almost_all_near_duplicates_are_found():
    originals = [random_text(seed) for seed in range(300)]
    copies = [changed(text, [seed % 190]) for seed, text in enumerate(originals)]
    repeats = find_repeats(originals, copies)
    assert (repeats.near[:300] == -1).all()
    assert (repeats.near[300:] == np.arange(300)).mean() > 0.99


def test_texts_that_share_half_are_not_near():
    text = random_text(0)
    repeats = find_repeats([text, changed(text, range(0, 200, 8))])
    assert repeats.near.tolist() == [-1, -1]


def test_texts_without_spaces_are_compared_by_character():
    text = "中华人民共和国关于橄榄油贸易的规定以及其他有关事项的通知" * 3
    repeats = find_repeats([text, text[:-1] + "书"])
    assert repeats.words.tolist() == [len(text), len(text)]
    assert repeats.near.tolist() == [-1, 0]


def test_the_answer_does_not_depend_on_threads():
    many = [changed(random_text(seed % 40), [seed]) for seed in range(160)]
    try:
        set_threads(1)
        alone = find_repeats(many)
        set_threads(4)
        together = find_repeats(many)
    finally:
        set_threads(None)
    assert alone.near.tolist() == together.near.tolist()
    assert alone.exact.tolist() == together.exact.tolist()


def test_strange_texts_are_no_trouble():
    strange = ["\x00\x01", "\ud800 lone", "\u3000\u00a0", "a" * 100_000, "ＦＵＬＬ", "ﬁsh", "\n"]
    repeats = find_repeats(strange, strange)
    assert repeats.words.tolist() == [0, 2, 0, 1, 1, 1, 0] * 2


def test_a_healthy_data_set_has_no_findings():
    rows = [random_text(seed) for seed in range(6)]
    diagnosis = examine(Dataset.of(rows, [["fish", "oil"]] * 6), Dataset.of(["new"], [["oil"]]))
    assert diagnosis.findings == ()
    assert (diagnosis.texts, diagnosis.labels) == (6, 2)
    assert diagnosis.words_per_text.max == 200
    assert diagnosis.labels_per_text.mean == 2
    assert diagnosis.texts_per_label.median == 6


def test_each_illness_of_the_texts_is_named():
    original = random_text(1)
    rows = [original, original.upper().replace(" ", "\t\n"), changed(original, [7]), " ", "fish"]
    ill = found(examine(Dataset.of(rows, [["a"], ["a"], ["a"], ["a"], []])))
    assert set(ill) == {
        "empty_texts",
        "texts_without_labels",
        "exact_duplicates",
        "near_duplicates",
    }
    assert all(finding.count == 1 for finding in ill.values())
    assert ill["empty_texts"].examples == ("text 4",)
    assert ill["empty_texts"].sentence == "1 text has no words."
    assert ill["exact_duplicates"].examples[0].startswith("text 2 repeats text 1: ")
    assert ill["near_duplicates"].examples[0].startswith("text 3 is like text 1: ")
    assert ill["texts_without_labels"].examples == ("text 5",)


def test_leaks_are_told_apart_from_duplicates():
    one = random_text(1)
    two = random_text(2)
    train = Dataset.of([one, two], [["a"], ["a"]])
    test = Dataset.of([random_text(3), two.title(), changed(one, [0])], [["a"]] * 3)
    ill = found(examine(train, test))
    assert set(ill) == {"exact_leaks", "near_leaks"}
    assert ill["exact_leaks"].severity == "error"
    assert ill["exact_leaks"].examples[0].startswith("test 2 is text 2")
    assert ill["near_leaks"].examples[0].startswith("test 3 is like text 1")
    assert "33 %" in ill["near_leaks"].sentence


def test_each_illness_of_the_labels_is_named():
    names = [["Olive Oil", "olive  oil", "cafe\u0301", "café", "fish"], ["fish"]]
    test = Dataset.of(["something else"], [["fish", "FISH", "whale", "eel"]])
    ill = found(examine(Dataset.of(["one text", "another"], names), test))
    assert set(ill) == {"labels_seen_once", "alike_label_names", "unseen_test_labels"}
    assert ill["labels_seen_once"].count == 4
    assert ill["alike_label_names"].count == 3
    assert "'Olive Oil' = 'olive  oil'" in ill["alike_label_names"].examples
    assert ill["unseen_test_labels"].count == 3
    assert "75 %" in ill["unseen_test_labels"].sentence
    assert ill["unseen_test_labels"].examples == ("FISH", "eel", "whale")


def test_a_label_of_the_space_without_training_texts_is_unseen_too():
    space = LabelSpace(("a", "b"))
    train = Dataset(["one", "two"], csr_of_rows([[0], [0]], 2), space)
    test = Dataset(["three"], csr_of_rows([[1]], 2), space)
    assert found(examine(train, test))["unseen_test_labels"].examples == ("b",)


def test_findings_come_worst_first_with_at_most_three_examples():
    text = random_text(1)
    train = Dataset.of([text] * 9, [["a"]] * 8 + [["b"]])
    diagnosis = examine(train, Dataset.of([text], [["a"]]))
    severities = [finding.severity for finding in diagnosis.findings]
    assert severities == ["error", "warning", "note"]
    assert "(100 % of the test texts)" in diagnosis.findings[0].sentence
    duplicates = found(diagnosis)["exact_duplicates"]
    assert (duplicates.count, len(duplicates.examples)) == (8, 3)


def test_the_diagnosis_survives_json():
    diagnosis = examine(Dataset.of(["a b", "a b", ""], [["x", "y"], ["x"], []]))
    plain = diagnosis.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["labels_by_texts"] == {"1": 1, "2": 1}
    assert {"kind", "severity", "sentence", "count", "examples", "advice"} == set(
        plain["findings"][0]
    )


def test_a_set_of_features_only_and_an_empty_set_can_be_examined():
    space = LabelSpace(("a",))
    relevant = csr_of_rows([[0], [0]], 1)
    diagnosis = examine(Dataset((), relevant, space, features=relevant))
    assert (diagnosis.texts, diagnosis.words_per_text, diagnosis.findings) == (2, None, ())
    assert diagnosis.to_dict()["words_per_text"] is None
    assert examine(Dataset.of([], [])).texts == 0


def test_labels_without_a_name_are_found():
    data = Dataset.of(["one text", "two texts", "three"], [["fish"], ["", "fish"], [" ", ""]])
    finding = found(examine(data))["empty_label_names"]
    assert (finding.count, finding.examples) == (2, ("text 2", "text 3"))


def test_data_without_any_label_is_one_error():
    ill = found(examine(Dataset.of(["one text", "two texts"], [[], []])))
    assert list(ill) == ["no_labels"]
    assert ill["no_labels"].severity == "error"


def test_labels_written_as_one_are_found():
    data = Dataset.of(["one text", "two texts", "three"], [["trade; fish"], ["fish"], ["a;b"]])
    finding = next(f for f in examine(data).findings if f.kind == "unsplit_label_names")
    assert finding.count == 1
    assert finding.examples == ("'trade; fish'",)
