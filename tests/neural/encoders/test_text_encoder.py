"""Encoders of all families: batches and frozen layers do not matter, nothing is fetched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoModel, AutoTokenizer

import xmtc
from tiny import FAMILIES, tiny_encoder
from xmtc.cli.app import run
from xmtc.core import threads
from xmtc.core.config import from_dict
from xmtc.core.parts import Parts
from xmtc.data.planted import planted
from xmtc.models import lightxml
from xmtc.neural import devices, extra
from xmtc.neural.batches.token_layout import Batch
from xmtc.neural.batches.tokens import cached_tokens, tokenize
from xmtc.neural.encoders import frozen, locate, transformer, vectors
from xmtc.neural.encoders.frozen import FrozenSource, TokenSource, source_of
from xmtc.neural.encoders.make import make_encoder
from xmtc.neural.encoders.read_states import states_of
from xmtc.neural.encoders.serialize import encoder_arrays, encoder_from
from xmtc.neural.encoders.vectors import text_vectors
from xmtc.neural.encoders.word_encoders import BiLstm
from xmtc.neural.settings import BiLstmEncoder, Pretrained, PublishedPretrained

TEXTS = ["alpha beta gamma", "", "sign0a zebra crossing with the stripes alpha", "delta " * 40]
every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("families")
    return {family: tiny_encoder(folder / family, family) for family in FAMILIES}


def config_of(folders, family, **others):
    if family in locate.OWN:
        values = {"type": family, "max_tokens": 16, **others}
        return from_dict(lightxml.Config, {"encoder": values}).encoder
    names = ("cls_position", "long_texts", "frozen_cache", "pooled_layers")
    published = {name: others.pop(name) for name in names if name in others}
    values = {"max_tokens": 16, "trainable_layers": None, "dropout": None, **others}
    return Pretrained(folders[family], **values, published=PublishedPretrained(**published))


@every_family
@pytest.mark.parametrize("vector", ["cls", "mean"])
def test_the_vector_is_what_transformers_gives(folders, family, vector):
    """CLS, or the mean of all real tokens, of the last two layers, the last one first."""
    encoder = make_encoder([], config_of(folders, family, pooling=vector, pooled_layers=2)).eval()
    tokenizer = AutoTokenizer.from_pretrained(folders[family])
    model = AutoModel.from_pretrained(folders[family]).eval()
    for text in TEXTS[:3]:
        inputs = tokenizer(text, return_tensors="pt", max_length=16, truncation=True)
        with torch.no_grad():
            states = model(**inputs, output_hidden_states=True).hidden_states
        place = inputs["input_ids"][0].tolist().index(tokenizer.cls_token_id)
        pooled = [
            state[0, place] if vector == "cls" else state[0].mean(0)
            for state in (states[-1], states[-2])
        ]
        np.testing.assert_allclose(encoder.encode([text])[0], torch.cat(pooled), atol=1e-5)


@pytest.mark.parametrize(
    ("family", "others"),
    [(family, {}) for family in (*FAMILIES, *locate.OWN)]
    + [(family, {"max_chunks": 4}) for family in FAMILIES],
)
def test_a_batch_reads_like_its_texts_one_by_one(folders, family, others):
    encoder = make_encoder(TEXTS, config_of(folders, family, **others)).eval()
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-5)


@every_family
@pytest.mark.parametrize("trainable", [1, 2, 3])
def test_cached_layers_do_what_the_whole_encoder_does(folders, family, trainable, tmp_path):
    config = config_of(folders, family, trainable_layers=trainable)
    encoder = make_encoder(TEXTS, config).eval()
    tokens = tokenize(TEXTS, encoder.tokenizer, encoder.cut)
    source = source_of(encoder, tokens, tmp_path)
    assert isinstance(source, FrozenSource)
    with torch.no_grad():
        found = source.encoder.eval()(source.batch(np.array([3, 0, 2])))
    np.testing.assert_allclose(found, encoder.encode(TEXTS)[[3, 0, 2]], atol=5e-3)  # half precision
    again = source_of(encoder, tokens, tmp_path)
    assert (again.states == source.states).all()
    assert len(list(tmp_path.glob("states-*.npy"))) == 1


@pytest.mark.parametrize("max_chunks", [None, 4])
def test_what_was_read_of_more_texts_serves_for_some_of_them(
    folders, tmp_path, monkeypatch, max_chunks
):
    config = config_of(folders, "bert", trainable_layers=1, max_chunks=max_chunks)
    encoder = make_encoder(TEXTS, config).eval()
    whole, some = (
        source_of(encoder, tokenize(texts, encoder.tokenizer, encoder.cut), tmp_path)
        for texts in (TEXTS, [TEXTS[3], TEXTS[0], TEXTS[3]])
    )
    assert len(list(tmp_path.glob("states-*.npy"))) == 1
    there = whole.batch(np.array([3, 0, 3]))
    here = some.batch(np.arange(3))
    assert (there.states == here.states).all()
    expected = text_vectors(whole, tmp_path)[[3, 0, 3]]
    monkeypatch.setattr(vectors, "_read", None)  # nothing is read again
    assert (text_vectors(some, tmp_path) == expected).all()


def test_texts_that_were_not_read_before_are_read(folders, tmp_path):
    encoder = make_encoder(TEXTS, config_of(folders, "bert", trainable_layers=1)).eval()
    for texts in (TEXTS[:2], TEXTS[1:]):
        source = source_of(encoder, tokenize(texts, encoder.tokenizer, encoder.cut), tmp_path)
        np.testing.assert_allclose(text_vectors(source, tmp_path), encoder.encode(texts), atol=5e-3)
    assert len(list(tmp_path.glob("states-*.npy"))) == 2


def test_layers_above_the_frozen_ones_are_not_computed_for_their_states(
    folders, tmp_path, monkeypatch
):
    encoder = make_encoder(TEXTS, config_of(folders, "bert", trainable_layers=1)).eval()
    calls = []
    layers = transformer.layers_of(encoder.body.model)
    for number, layer in enumerate(layers):
        layer.attention.register_forward_pre_hook(lambda *_, number=number: calls.append(number))
    frozen._states(
        encoder, 2, tokenize(TEXTS, encoder.tokenizer, encoder.cut), tmp_path, "fp32", "below"
    )
    assert set(calls) == {0, 1}


@pytest.mark.parametrize(("cache", "bound"), [("fp16", 5e-3), ("fp32", 1e-5)])
def test_cached_states_are_as_exact_as_asked_for(folders, tmp_path, cache, bound):
    for stored in (
        cache,
        "fp16" if cache == "fp32" else "fp32",
    ):  # one does not serve for the other
        encoder = make_encoder(
            TEXTS, config_of(folders, "bert", trainable_layers=1, frozen_cache=stored)
        ).eval()
        tokens = tokenize(TEXTS, encoder.tokenizer, encoder.cut)
        source = source_of(encoder, tokens, tmp_path)
        assert source.states.dtype == {"fp16": np.float16, "fp32": np.float32}[stored]
        if stored == cache:
            found = source.encoder.eval()(source.batch(np.arange(4))).detach()
            np.testing.assert_allclose(found, encoder.encode(TEXTS), atol=bound)


def test_frozen_layers_read_in_the_precision_that_is_asked_for(folders, tmp_path):
    encoder = make_encoder(TEXTS, config_of(folders, "bert", trainable_layers=1)).eval()
    tokens = tokenize(TEXTS, encoder.tokenizer, encoder.cut)
    exact = source_of(encoder, tokens, tmp_path)
    rough = source_of(encoder, tokens, tmp_path, "bf16")
    assert not (rough.states == exact.states).all()  # one does not serve for the other
    np.testing.assert_allclose(rough.states, exact.states, atol=0.1)
    vectors = [
        text_vectors(TokenSource(encoder, tokens, precision), tmp_path)
        for precision in ("fp32", "bf16")
    ]
    assert (vectors[0] != vectors[1]).any()
    np.testing.assert_allclose(*vectors, atol=0.1)


def test_without_a_cache_layers_are_frozen_all_the_same(folders, tmp_path):
    config = config_of(folders, "bert", trainable_layers=1, frozen_cache=None)
    encoder = make_encoder(TEXTS, config)
    source = source_of(encoder, tokenize(TEXTS, encoder.tokenizer, encoder.cut), tmp_path)
    assert isinstance(source, TokenSource)
    assert not encoder.body.model.embeddings.word_embeddings.weight.requires_grad


@every_family
def test_frozen_layers_get_no_gradients_and_the_others_do(folders, family, tmp_path):
    encoder = make_encoder(TEXTS, config_of(folders, family, trainable_layers=1)).train()
    source = source_of(encoder, tokenize(TEXTS, encoder.tokenizer, encoder.cut), tmp_path)
    source.encoder(source.batch(np.arange(4))).sum().backward()
    moved = {name for name, p in encoder.named_parameters() if p.grad is not None}
    assert moved
    assert all(".2." in name or "norm" in name.lower() for name in moved), moved


def test_another_encoder_does_not_find_the_states_of_the_first(folders, tmp_path):
    config = config_of(folders, "bert", trainable_layers=1)
    first, second = (make_encoder(TEXTS, config) for _ in range(2))
    with torch.no_grad():
        second.body.model.get_input_embeddings().weight[-1] += 1.0  # one row, far from the first
    tokens = cached_tokens(TEXTS, first.tokenizer, first.cut, tmp_path)
    for encoder in (first, second):
        source_of(encoder, tokens, tmp_path)
    assert len(list(tmp_path.glob("states-*.npy"))) == 2


def test_a_disk_without_room_for_the_states_is_an_error_that_says_so(
    folders, tmp_path, monkeypatch
):
    def full(*_):
        raise OSError(28, "No space left on device")

    encoder = make_encoder(TEXTS, config_of(folders, "bert", trainable_layers=1))
    tokens = cached_tokens(TEXTS, encoder.tokenizer, encoder.cut, tmp_path)
    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(xmtc.StoreError, match=r"no room for .* MB in .*frozen_cache=none"):
        source_of(encoder, tokens, tmp_path)
    assert not list(tmp_path.glob("states-*"))


def test_a_pooler_of_two_layers_is_refused():
    with pytest.raises(xmtc.ConfigError, match="pooler"):
        Pretrained(pooling="pooler", published=PublishedPretrained(pooled_layers=2))


def test_a_pooler_is_refused_where_the_encoder_has_none(folders):
    with pytest.raises(xmtc.ConfigError, match=r"pooling=pooler: .* has none; use cls or mean"):
        make_encoder([], config_of(folders, "xlnet", pooling="pooler"))


def test_more_layers_than_are_cached_still_work(folders, tmp_path):
    encoder = make_encoder(
        TEXTS, config_of(folders, "bert", trainable_layers=1, pooled_layers=3)
    ).eval()
    source = source_of(encoder, tokenize(TEXTS, encoder.tokenizer, encoder.cut), tmp_path)
    assert isinstance(source, TokenSource)


def test_more_layers_than_there_are_is_all_of_them(folders):
    assert make_encoder([], config_of(folders, "bert", pooled_layers=99)).dim == 4 * 32


@pytest.mark.parametrize("family", [*FAMILIES, *locate.OWN])
def test_a_saved_encoder_needs_nothing_but_its_arrays(folders, family):
    data = planted(texts=3)
    encoder = make_encoder(TEXTS, config_of(folders, family)).eval()
    parts = Parts({}, data.labels, data.trained_on(), encoder_arrays(encoder, "encoder"))
    config = encoder.config
    if family not in locate.OWN:
        config = replace(config, name="/nowhere")
    loaded = encoder_from(parts, "encoder", config)
    assert (loaded.encode(TEXTS) == encoder.encode(TEXTS)).all()


WEIGHTS = "encoder.model.embeddings.word_embeddings.weight"
FORGED = {
    "no-such-cls": (b'"cls": 0', b'"cls": 9'),
    "no-such-token": (b'"before": [2]', b'"before": [999999]'),
    "no-such-segment": (b'"text_type": 0', b'"text_type": 7'),
    "too-short": (b'"max_position_embeddings": 64', b'"max_position_embeddings": 4'),
    "no-json": (b"{", b"\xff"),
    "absurd-size": (b'"hidden_size": 32', b'"hidden_size": 99999999999'),
    "unknown-family": (b'e": "bert"', b'e": "evil"'),
}


@pytest.mark.parametrize("change", FORGED)
def test_a_forged_description_of_an_encoder_is_refused(folders, change):
    old, new = FORGED[change]
    about = encoder_arrays(tiny_one(folders), "encoder")["encoder.about.json"].tobytes()
    assert old in about
    refused(folders, {"encoder.about.json": np.frombuffer(about.replace(old, new), np.uint8)})


def test_a_damaged_encoder_is_refused(folders):
    weights = encoder_arrays(tiny_one(folders), "encoder")[WEIGHTS]
    refused(folders, {WEIGHTS: weights[1:]})
    refused(folders, {WEIGHTS: weights * np.float32(np.nan)})
    refused(folders, {WEIGHTS: weights.astype(np.float64)})
    refused(folders, {"encoder.tokenizer.json": np.frombuffer(b"{}", np.uint8)})


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_damaged_folder_of_an_encoder_is_refused(name, tmp_path):
    folder = tiny_encoder(tmp_path / "bert")
    content = (tmp_path / "bert" / name).read_bytes()
    (tmp_path / "bert" / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(xmtc.ConfigError, match=r"cannot (use|read) the (encoder|tokenizer) in"):
        make_encoder(TEXTS, Pretrained(folder, max_tokens=16))


def tiny_one(folders):
    return make_encoder(TEXTS, config_of(folders, "bert"))


def refused(folders, changes):
    data = planted(texts=3)
    encoder = tiny_one(folders)
    arrays = {**encoder_arrays(encoder, "encoder"), **changes}
    with pytest.raises(xmtc.StoreError):
        encoder_from(Parts({}, data.labels, data.trained_on(), arrays), "encoder", encoder.config)


def test_an_encoder_that_is_not_there_is_not_fetched(monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("went to the network"))
    with pytest.raises(xmtc.ConfigError, match=r"hf download bert-base-uncased"):
        make_encoder([], Pretrained("bert-base-uncased"))


def test_a_folder_that_is_no_encoder_says_what_it_lacks(tmp_path):
    with pytest.raises(xmtc.ConfigError, match=r"lacks a config\.json .* and model\.safetensors"):
        make_encoder([], Pretrained(str(tmp_path)))


def test_longer_texts_than_the_encoder_can_read_are_refused(folders):
    with pytest.raises(xmtc.ConfigError, match="at most 64 tokens"):
        make_encoder([], Pretrained(folders["bert"], max_tokens=65))
    with pytest.raises(xmtc.ConfigError, match="at most 63 tokens"):  # positions begin after pad
        make_encoder([], Pretrained(folders["roberta"], max_tokens=64))


def test_encoders_in_the_hub_cache_are_listed(tmp_path, monkeypatch, capfd):
    snapshot = tmp_path / "models--owner--name" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    tiny_encoder(snapshot)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert run(["encoders"]) == 0
    listed = capfd.readouterr().out
    assert all(name in listed for name in ("owner/name", "minilm", *locate.OWN))
    assert make_encoder([], Pretrained("owner/name", max_tokens=16)).dim == 32


def test_what_the_hub_cache_has_in_part_is_not_listed_and_the_error_says_what_is_missing(
    tmp_path, monkeypatch
):
    def cached(name, **files):
        snapshot = tmp_path / f"models--owner--{name}" / "snapshots" / "abc"
        snapshot.mkdir(parents=True)
        for ending, text in files.items():
            (snapshot / ending.replace("__", ".")).write_text(text)

    typed = '{"model_type": "bert"}'
    cached("empty", config__json="{}", model__safetensors="")
    cached("old", config__json=typed, pytorch_model__bin="")
    cached("large", config__json=typed, model__safetensors__index__json="{}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    listed = [each.name for each in locate.usable()]
    assert [name for name in listed if "/" in name] == ["owner/large"]
    for name, lacks in (("empty", "model_type"), ("old", r"model\.safetensors")):
        with pytest.raises(xmtc.ConfigError, match=f"not whole: .*lacks .*{lacks}.*hf download"):
            locate.find(f"owner/{name}")


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(xmtc.MissingExtra, match=r"needs PyTorch.*pip install 'xmtc\[neural\]'"):
        xmtc.train("lightxml", planted())


def test_cls_can_be_taken_at_the_first_place_as_the_authors_did(folders):
    """XLNet's CLS is its last token; LightXML's code reads the first one, padded on the right."""
    for family in ("bert", "xlnet"):
        config = config_of(folders, family, pooling="cls", cls_position="first")
        encoder = make_encoder([], config).eval()
        tokenizer = AutoTokenizer.from_pretrained(folders[family])
        model = AutoModel.from_pretrained(folders[family]).eval()
        for text in TEXTS[:3]:
            with torch.no_grad():
                states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state
            np.testing.assert_allclose(encoder.encode([text])[0], states[0, 0], atol=1e-5)
        alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
        np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-5)


@pytest.mark.slow
def test_the_bundled_encoder_knows_what_words_mean():
    encoder = make_encoder([], Pretrained()).eval()
    cat, kitten, tax = encoder.encode(["a cat", "a kitten", "income tax law"])
    assert cat @ kitten > 1.5 * (cat @ tax)


def test_little_is_read_by_one_thread_and_more_by_all(folders, monkeypatch):
    bert = make_encoder([], config_of(folders, "bert")).eval()
    bilstm = make_encoder(TEXTS, BiLstmEncoder(embedding_dim=8)).eval()
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.setattr(threads, "_asked", [2])
    for encoder, reads in (
        (bert, bert.encode),
        (bilstm, lambda texts: next(states_of([bilstm], texts))[1].states[0]),
    ):
        used = []
        read = []
        encoder.body.register_forward_hook(
            lambda *_, used=used: used.append(torch.get_num_threads())
        )
        for little in (1e12, 1):
            monkeypatch.setattr(devices, "LITTLE", little)
            read.append(reads(TEXTS))
            assert torch.get_num_threads() == 2
        assert used == [1, 2]
        np.testing.assert_allclose(*read, atol=1e-5)


def test_a_bilstm_reads_like_torchs_packed_sequences():
    """Each text from its own end backwards, whatever else is in the batch; 0 beyond its end."""
    torch.manual_seed(0)
    body = BiLstm(words=20, width=6, dropout=0.0)
    lengths = torch.tensor([3, 7, 1, 5])
    mask = (torch.arange(7) < lengths[:, None]).long()
    ids = torch.randint(3, 20, (4, 7)) * mask
    batch = Batch(ids, mask, types=ids * 0, cls=torch.zeros(4), owner=None, texts=4)
    packed = pack_padded_sequence(body.words(ids), lengths, True, enforce_sorted=False)
    wanted, _ = pad_packed_sequence(body.lstm(packed)[0], True)
    (states,) = body(batch, 1)
    torch.testing.assert_close(states, wanted)

    weights = list(body.lstm.parameters())
    ours = torch.autograd.grad((states**2).sum(), weights)
    theirs = torch.autograd.grad((wanted**2).sum(), weights)
    torch.testing.assert_close(ours, theirs)
