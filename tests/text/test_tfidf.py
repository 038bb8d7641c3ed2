"""TF-IDF says what scikit-learn's says, for texts in any script, and whatever the thread count."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import xmtc
from xmtc.core.config import from_dict
from xmtc.core.errors import ConfigError, DataError
from xmtc.core.parts import Parts
from xmtc.text import tfidf, unicode_tables
from xmtc.text.encoder import GivenFeatures
from xmtc.text.tfidf import PublishedTfidf, TfidfConfig

SCRIPTS = [
    "The quick brown fox jumps over the lazy dog; the DOG barks 42 times in 2024.",
    "Ökonomie und Straßenbau: GRÖSSE, Maße, naïve café, coöperatie, Œuvre, ŞEHİR İstanbul",
    "Η Αθήνα ΕΙΝΑΙ η πρωτεύουσα ΤΗΣ ΕΛΛΑΔΑΣ, ΟΔΟΣ Σ. ΣΊΣΥΦΟΣ",
    "Съешь же ЕЩЁ этих мягких французских булок, да выпей чаю",
    "日本語の文章とカタカナ、漢字。東京都 東京都 中文分词 한국어 문장입니다",
    "مرحبا بالعالم ١٢٣ שלום עולם हिन्दी में पाठ ภาษาไทย",
    "snake_case __init__ x1 y² ½ ⅷ a\u0301ccent e\u0301 don't\tTAB\nnew\u2028line\u00a0nbsp",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐐀𐐁𐐂 𠀀𠀁 👍🏽 emoji🎉mix \U000e0001tag \U0010ffff Ⱥ Ⱦ K Å ſ ǅ ẞ",
    "",
    "a I x",
    "\x00nul\x00byte the the the",
]
SETTINGS = [
    ({}, {}),
    ({"published": PublishedTfidf(sublinear_tf=False)}, {"sublinear_tf": False}),
    ({"min_df": 2}, {"min_df": 2}),
    ({"max_df": 0.2}, {"max_df": 0.2}),
    ({"ngram_range": (1, 3)}, {"ngram_range": (1, 3)}),
    ({"ngram_range": (2, 2)}, {"ngram_range": (2, 2)}),
    ({"lowercase": False}, {"lowercase": False}),
    ({"published": PublishedTfidf(min_word_length=1)}, {"token_pattern": r"(?u)\b\w+\b"}),
    ({"published": PublishedTfidf(min_word_length=4)}, {"token_pattern": r"(?u)\b\w\w\w\w+\b"}),
    ({"published": PublishedTfidf(norm=None)}, {"norm": None}),
    ({"analyzer": "char", "ngram_range": (1, 1)}, {"analyzer": "char_wb", "ngram_range": (1, 1)}),
    ({"analyzer": "char", "ngram_range": (2, 5)}, {"analyzer": "char_wb", "ngram_range": (2, 5)}),
    (
        {"analyzer": "char", "ngram_range": (12, 14)},
        {"analyzer": "char_wb", "ngram_range": (12, 14)},
    ),
]


def theirs(texts, options):
    vectorizer = TfidfVectorizer(**{"sublinear_tf": True, **options})
    return vectorizer, vectorizer.fit_transform(texts)


def in_their_order(encoder, features, vectorizer):
    columns = np.empty(encoder.feature_count, np.int64)
    for column in range(encoder.feature_count):
        columns[vectorizer.vocabulary_[encoder.term(column)]] = column
    return features.toarray()[:, columns]


@pytest.mark.parametrize(("ours", "options"), SETTINGS, ids=[str(ours) for ours, _ in SETTINGS])
def test_it_agrees_with_scikit_learn(ours, options):
    texts = SCRIPTS * 2 + ["the dog", "東京都 dog", "ОТ dog the"]
    encoder, features = tfidf.learn(texts, TfidfConfig(**ours))
    vectorizer, expected = theirs(texts, options)
    assert encoder.feature_count == len(vectorizer.vocabulary_)
    assert np.abs(in_their_order(encoder, features, vectorizer) - expected).max() < 1e-5
    unseen = ["the lazy unknown dog", "東京都", "", "ΟΔΟΣ İstanbul", *SCRIPTS]
    assert (
        np.abs(
            in_their_order(encoder, encoder.encode(unseen), vectorizer)
            - vectorizer.transform(unseen)
        ).max()
        < 1e-5
    )


@given(st.lists(st.text(max_size=60), min_size=1, max_size=12))
def test_it_agrees_with_scikit_learn_on_any_text(texts):
    texts = [*texts, "so that there is a word"]
    encoder, features = tfidf.learn(texts, TfidfConfig())
    vectorizer, expected = theirs(texts, {})
    assert encoder.feature_count == len(vectorizer.vocabulary_)
    assert np.abs(in_their_order(encoder, features, vectorizer) - expected).max() < 1e-5


@given(st.lists(st.text(max_size=30), min_size=1, max_size=8), st.integers(1, 4), st.integers(0, 3))
def test_character_ngrams_agree_with_scikit_learn_on_any_text(texts, shortest, more):
    texts = [*texts, "so"]
    config = TfidfConfig(analyzer="char", ngram_range=(shortest, shortest + more))
    encoder, features = tfidf.learn(texts, config)
    ranges = (shortest, shortest + more)
    vectorizer, expected = theirs(texts, {"analyzer": "char_wb", "ngram_range": ranges})
    assert np.abs(in_their_order(encoder, features, vectorizer) - expected).max() < 1e-5


@given(st.lists(st.text(max_size=200), max_size=20), st.sampled_from([None, 7, 64]))
def test_learning_and_encoding_say_the_same(texts, buckets):
    encoder, features = tfidf.learn(
        texts, TfidfConfig(published=PublishedTfidf(hash_buckets=buckets))
    )
    again = encoder.encode(texts)
    assert features.shape == again.shape == (len(texts), encoder.feature_count)
    assert (features.toarray() == again.toarray()).all()
    assert features.has_sorted_indices
    assert features.indices.dtype == np.int32
    assert features.dtype == np.float32


def test_every_character_is_lowered_and_classified_as_python_does():
    words = unicode_tables.folded(True, True)
    visible = unicode_tables.folded(False, True)
    for point in range(sys.maxunicode + 1):
        char = chr(point)
        inside = char.isalnum() or char == "_"
        if point < len(words):
            assert (words[point] >= 0) == inside
            assert (visible[point] >= 0) == (not char.isspace())
            if inside and char not in unicode_tables.IRREGULAR:
                assert chr(words[point]) == char.lower()
        else:
            assert not inside
            assert not char.isspace()
            assert char.lower() == char
    assert words[-1] == -1
    assert visible[-1] >= 0


@pytest.mark.parametrize("buckets", [None, 512])
def test_threads_and_blocks_do_not_change_a_bit(monkeypatch, buckets):
    texts = [f"{a} word{i % 7} {'x' * (i % 50)} term{i}" for i, a in enumerate(SCRIPTS * 40)]
    config = TfidfConfig(ngram_range=(1, 2), published=PublishedTfidf(hash_buckets=buckets))
    xmtc.set_threads(1)
    one, expected = tfidf.learn(texts, config)
    monkeypatch.setattr(tfidf, "BLOCK_CHARACTERS", 5_000)
    monkeypatch.setattr(tfidf, "SMALL", 0)
    xmtc.set_threads(4)
    many, features = tfidf.learn(texts, config)
    for name in ("indptr", "indices", "data"):
        assert (getattr(expected, name) == getattr(features, name)).all()
        assert (getattr(many.encode(texts), name) == getattr(features, name)).all()
    assert (one.terms == many.terms).all()
    assert (one.idf == many.idf).all()


def test_frequent_terms_come_first_and_the_limit_keeps_the_most_used():
    texts = ["apple apple apple", "pear plum", "plum", "plum pear fig"]
    encoder, _ = tfidf.learn(texts, TfidfConfig())
    assert [encoder.term(c) for c in range(4)] == ["plum", "pear", "apple", "fig"]
    encoder, features = tfidf.learn(texts, TfidfConfig(max_features=2))
    assert {encoder.term(c) for c in range(2)} == {"apple", "plum"}
    assert features.shape == (4, 2)


def test_hashing_needs_no_vocabulary_and_merges_few_terms():
    texts = [f"word{i} shared" for i in range(300)]
    encoder, hashed = tfidf.learn(
        texts, TfidfConfig(published=PublishedTfidf(hash_buckets=1 << 16))
    )
    _, exact = tfidf.learn(texts, TfidfConfig())
    assert len(encoder.terms) == 0
    assert hashed.shape[1] >= 0.98 * exact.shape[1]


def test_a_vocabulary_can_be_empty():
    encoder, features = tfidf.learn(["a b", ""], TfidfConfig())
    assert features.shape == (2, 0)
    assert encoder.encode(["anything"]).shape == (1, 0)


def test_very_many_terms_all_stay_different():
    texts = [" ".join(f"t{i * 100 + j}x" for j in range(100)) for i in range(500)]
    encoder, features = tfidf.learn(texts, TfidfConfig())
    assert encoder.feature_count == 50_000
    assert features.nnz == 50_000
    assert len({encoder.term(c) for c in range(50_000)}) == 50_000


def test_feature_rows_of_the_right_width_pass_through():
    encoder, features = tfidf.learn(SCRIPTS, TfidfConfig())
    assert (encoder.encode(features) != features).nnz == 0
    for other in (encoder.feature_count + 1, 3):
        with pytest.raises(DataError, match=f"expected texts, .* {other} columns"):
            encoder.encode(sp.csr_array((2, other), dtype=np.float32))
    with pytest.raises(DataError, match="NaN"):
        encoder.encode(sp.csr_array(np.full((1, encoder.feature_count), np.nan, np.float32)))


def test_a_model_of_given_features_reads_narrower_rows_too():
    encoder = GivenFeatures(5)
    assert encoder.encode(sp.csr_array((2, 3), dtype=np.float32)).shape == (2, 5)
    with pytest.raises(DataError, match="columns"):
        encoder.encode(sp.csr_array((2, 6), dtype=np.float32))


@pytest.mark.parametrize(
    "bad",
    [
        {"ngram_range": [0, 1]},
        {"ngram_range": [3, 2]},
        {"ngram_range": [1, 99]},
        {"ngram_range": [1]},
        {"min_df": 0},
        {"max_df": 0.0},
        {"max_df": 1.5},
        {"max_features": 0},
        {"published": {"hash_buckets": -1}},
        {"published": {"min_word_length": 0}},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        from_dict(TfidfConfig, bad)


def test_a_saved_vocabulary_with_a_twin_is_refused(tmp_path):
    model = xmtc.train(
        "one_vs_all", xmtc.Dataset.of(["aa bb", "cc longer_than_seven"], [["x"], ["y"]])
    )
    parts = model.to_parts()
    arrays = dict(parts.arrays)
    terms = b"aabbaalonger_than_seven"
    arrays["encoder.terms"] = np.frombuffer(terms, np.uint8)
    arrays["encoder.term_starts"] = np.array([0, 2, 4, 6, len(terms)])
    twin = type(
        "Twin",
        (),
        {
            "kind": "one_vs_all",
            "to_parts": lambda self: Parts(parts.settings, parts.labels, parts.trained_on, arrays),
        },
    )()
    xmtc.save(twin, tmp_path / "model")
    with pytest.raises(xmtc.StoreError, match="twice"):
        xmtc.load(tmp_path / "model")
