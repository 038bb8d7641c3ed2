from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from xmtc.core.config import from_dict  # noqa: E402
from xmtc.models import lightxml  # noqa: E402
from xmtc.neural.batches.tokens import Cut, tokenize  # noqa: E402
from xmtc.neural.encoders import make as encoders  # noqa: E402
from xmtc.neural.encoders import word_encoders  # noqa: E402
from xmtc.neural.encoders.lsa_init import place_words, weights_of  # noqa: E402

SEA = "ship harbour captain anchor"
MONEY = "bank loan interest coin"
TEXTS = [
    f"{first} {second}"
    for topic in (SEA, MONEY)
    for first in topic.split()
    for second in topic.split()
    if first != second
]


def placed(texts, width=4):
    """Words and their vectors, in alphabetical order."""
    tokenizer = word_encoders.word_tokenizer(texts, 100)
    vocabulary = tokenizer.get_vocab()
    torch.manual_seed(0)
    table = torch.zeros(len(vocabulary), width)
    place_words(table, tokenize(texts, tokenizer, Cut(50)))
    return {word: table.numpy()[vocabulary[word]] for word in sorted(vocabulary)}


def likeness(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def test_words_of_the_same_texts_lie_nearer_than_others():
    found = placed(TEXTS, 2)
    for here, there in ((SEA, MONEY), (MONEY, SEA)):
        first, *others = here.split()
        near = min(likeness(found[first], found[word]) for word in others)
        far = max(likeness(found[first], found[word]) for word in there.split())
        assert near > far + 0.5


def test_they_are_the_singular_vectors_by_the_root_of_their_strength():
    tokenizer = word_encoders.word_tokenizer(TEXTS, 100)
    weights = weights_of(tokenize(TEXTS, tokenizer, Cut(50)), 11).toarray()
    _, strengths, directions = np.linalg.svd(weights, full_matrices=False)
    found = placed(TEXTS, 2)
    for word, other in combinations(SEA.split() + MONEY.split(), 2):
        places = [tokenizer.token_to_id(each) for each in (word, other)]
        expected = likeness(*(directions[:2] * np.sqrt(strengths[:2, None])).T[places])
        np.testing.assert_allclose(likeness(found[word], found[other]), expected, atol=0.01)


@given(st.lists(st.text("abc ", max_size=12), max_size=8), st.integers(1, 6))
def test_vectors_have_the_same_length_each_time_the_same_and_words_of_no_text_stay(texts, width):
    found = placed(texts, width)
    lengths = np.linalg.norm(list(found.values()), axis=1)
    assert (np.isclose(lengths, np.sqrt(width), rtol=1e-4) | (lengths == 0)).all()
    assert not found["[start]"].any()  # of no text
    again = placed(texts, width)
    assert all((found[word] == again[word]).all() for word in found)


@pytest.mark.parametrize("name", ["bilstm", "cnn", "xttention", "xml_cnn"])
def test_encoders_of_words_begin_with_them(name, monkeypatch):
    monkeypatch.setattr(encoders, "TEXTS_FOR_WORDS", 20)
    values = {"type": name, "max_tokens": 8, "embedding_dim": 8}
    config = from_dict(lightxml.Config, {"encoder": values}).encoder
    encoder = encoders.make_encoder(TEXTS, config)
    vocabulary = encoder.tokenizer.get_vocab()
    table = encoder.body.words.weight.detach().numpy()
    ship, harbour, coin = (table[vocabulary[word]] for word in ("ship", "harbour", "coin"))
    assert likeness(ship, harbour) > likeness(ship, coin) + 0.1
    assert not table[word_encoders.PAD].any()
