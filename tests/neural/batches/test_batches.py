"""Texts become batches: every text once, little padding, the same for the same seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tiny import tiny_tokenizer
from xmtc.neural.batches import tokens as tokens_module
from xmtc.neural.batches.grouping import padding, shuffled_batches
from xmtc.neural.batches.token_layout import TokenLayout, thinned
from xmtc.neural.batches.tokens import Cut, cached_tokens, tokenize

lengths = st.lists(st.integers(2, 128), min_size=1, max_size=300).map(np.array)
TOKENIZER = tiny_tokenizer("bert")


@given(lengths, st.integers(1, 40), st.integers(8, 2000), st.integers(0, 5))
def test_every_text_is_in_one_batch(lengths, most_texts, most_tokens, epoch):
    batches = shuffled_batches(lengths, most_texts, most_tokens, [0, epoch])
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))


@given(lengths, st.integers(1, 40), st.integers(8, 2000))
def test_no_batch_is_above_its_budget_unless_it_is_one_text(lengths, most_texts, most_tokens):
    for batch in shuffled_batches(lengths, most_texts, most_tokens, [0, 0]):
        assert len(batch) <= most_texts
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= most_tokens


def test_a_pool_of_one_batch_does_not_sort_by_length():
    lengths = np.random.default_rng(0).integers(1, 100, 320)
    grouped, mixed = (shuffled_batches(lengths, 32, 10**6, [0], pool) for pool in (10, 1))
    assert padding(lengths, grouped) < 0.1
    assert padding(lengths, mixed) > 0.3
    assert sorted(np.concatenate(mixed)) == list(range(320))


def test_the_seed_decides_the_batches():
    lengths = np.random.default_rng(0).integers(2, 100, 500)
    first, again, other = (
        [batch.tolist() for batch in shuffled_batches(lengths, 16, 1000, seed)]
        for seed in ([0, 1], [0, 1], [0, 2])
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("spread", [0.3, 0.6, 1.0])
def test_less_than_a_tenth_of_the_batches_is_padding(spread):
    drawn = np.random.default_rng(0).lognormal(4, spread, 3000)
    lengths = np.clip(drawn, 3, 128).astype(np.int64)
    batches = shuffled_batches(lengths, 32, 4096, [0, 0])
    assert padding(lengths, batches) < 0.1
    at_random = np.array_split(np.random.default_rng(1).permutation(len(lengths)), len(batches))
    assert padding(lengths, at_random) > 0.15


def numbered(count):
    """A text whose tokens are the first `count` words of the vocabulary, over and over."""
    words = ["alpha", "beta", "gamma", "delta"]
    return " ".join(words[place % 4] for place in range(count))


@given(st.integers(0, 60), st.integers(2, 20))
def test_head_keeps_the_first_tokens(count, room):
    whole = TOKENIZER.backend_tokenizer.encode(numbered(count), add_special_tokens=False).ids
    tokens = tokenize([numbered(count)], TOKENIZER.backend_tokenizer, Cut(room))
    assert tokens.ids.tolist() == whole[:room]


@given(st.integers(0, 60), st.integers(2, 20))
def test_head_and_tail_keep_both_ends(count, room):
    whole = TOKENIZER.backend_tokenizer.encode(numbered(count), add_special_tokens=False).ids
    cut = tokenize([numbered(count)], TOKENIZER.backend_tokenizer, Cut(room, "head_tail")).ids
    assert len(cut) == min(room, count)
    if count > room:
        head = room // 2
        assert cut.tolist() == whole[:head] + whole[head - room :]


@given(st.integers(0, 60), st.integers(2, 20), st.integers(1, 4))
def test_chunks_are_the_text_cut_in_order(count, room, most):
    whole = TOKENIZER.backend_tokenizer.encode(numbered(count), add_special_tokens=False).ids
    tokens = tokenize(["", numbered(count)], TOKENIZER.backend_tokenizer, Cut(room, "chunks", most))
    assert tokens.ids.tolist() == whole[: room * most]
    assert tokens.piece_counts.tolist() == [1, min(most, max(1, -(-count // room)))]
    assert (np.diff(tokens.starts) <= room).all()


def test_tokens_are_made_once_and_cached_by_content(tmp_path, monkeypatch):
    texts = ["alpha beta", "", "gamma \ud800"]
    cut = Cut(8)
    made = cached_tokens(texts, TOKENIZER.backend_tokenizer, cut, tmp_path)
    monkeypatch.setattr(tokens_module, "tokenize", lambda *_: pytest.fail("tokenised again"))
    again = cached_tokens(texts, TOKENIZER.backend_tokenizer, cut, tmp_path)
    assert isinstance(again.ids, np.memmap)
    assert again.ids.tolist() == made.ids.tolist()
    monkeypatch.undo()
    cached_tokens([*texts, "more"], TOKENIZER.backend_tokenizer, cut, tmp_path)
    cached_tokens(texts, TOKENIZER.backend_tokenizer, Cut(9), tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("family", ["bert", "xlnet"])
@given(st.lists(st.integers(0, 12), min_size=1, max_size=6))
def test_a_layout_does_what_the_tokenizer_does(family, counts):
    slow = tiny_tokenizer(family)
    texts = [numbered(count) for count in counts]
    layout = TokenLayout.of(slow)
    tokens = tokenize(texts, slow.backend_tokenizer, Cut(20))
    batch = layout.batch(tokens, list(range(len(texts))))
    expected = slow(texts, padding=True, return_tensors="pt", return_token_type_ids=True)
    assert batch.ids.tolist() == expected["input_ids"].tolist()
    assert batch.mask.tolist() == expected["attention_mask"].tolist()
    assert (batch.types == expected["token_type_ids"])[batch.mask.bool()].all()
    places = [row.index(slow.cls_token_id) for row in batch.ids.tolist()]
    assert batch.cls.tolist() == places
    if family == "xlnet":
        assert places == [batch.ids.shape[1] - 1] * len(texts)  # padded on the left, CLS last


@pytest.mark.parametrize("family", ["bert", "xlnet"])
@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.floats(0.1, 1), st.booleans())
def test_a_thinned_batch_has_some_tokens_in_their_order_and_always_cls(
    family, counts, share, frozen
):
    slow = tiny_tokenizer(family)
    texts = [numbered(count) for count in counts]
    tokens = tokenize(texts, slow.backend_tokenizer, Cut(20))
    whole = TokenLayout.of(slow).batch(tokens, list(range(len(texts))))
    places = torch.arange(whole.ids.shape[1]).expand(whole.ids.shape)
    if frozen:  # the state of a token says where it was
        whole = replace(whole, states=places.unsqueeze(2).float())
    thin = thinned(whole, share)
    for count, left in zip(counts, thin.mask.sum(1).tolist(), strict=True):
        assert left == 1 or abs(left - (count + 2) * share) < 0.501
    for row, real in enumerate(thin.mask.bool()):
        left = thin.ids[row][real].tolist()
        known = iter(whole.ids[row].tolist())
        assert all(token in known for token in left)  # in their order
        assert thin.ids[row, thin.cls[row]] == slow.cls_token_id
        assert real[thin.cls[row]]
        if frozen:
            came_from = thin.states[row, :, 0].long()
            assert (thin.ids[row] == whole.ids[row][came_from])[real].all()


def test_every_token_is_seen_sooner_or_later():
    tokens = tokenize([numbered(12)], TOKENIZER.backend_tokenizer, Cut(20))
    batch = TokenLayout.of(TOKENIZER).batch(tokens, [0])
    torch.manual_seed(0)
    seen = {token for _ in range(60) for token in thinned(batch, 0.2).ids[0].tolist()}
    assert seen == set(batch.ids[0].tolist())
    assert thinned(batch, 1.0) is batch
