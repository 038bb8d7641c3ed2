"""Tiny encoders with random weights, as files of the real formats. No hub, no download."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast, XLNetTokenizerFast

from xmtc.data.planted import NOISE

WORDS = [
    *NOISE,
    *(f"sign{label}{letter}" for label in range(40) for letter in "ab"),
    "the",
    "a",
    "zebra",
    "crossing",
    "with",
    "stripes",
    "only",
    "text",
    "nothing",
    "at",
    "all",
]
SPECIAL = ["[pad]", "[unk]", "[cls]", "[sep]"]
FIRST = ("[cls] $A [sep]", "right", 0)
LAST = ("$A:0 [sep]:0 [cls]:2", "left", 4)  # as XLNet wants it

SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2}
MEDIUM = {**SIZES, "intermediate_size": 64, "max_position_embeddings": 64}
FAMILIES = {
    "bert": MEDIUM,
    "roberta": {**MEDIUM, "type_vocab_size": 1},
    "electra": {**MEDIUM, "embedding_size": 16},
    "mpnet": MEDIUM,
    "distilbert": {
        "dim": 32,
        "n_layers": 3,
        "n_heads": 2,
        "hidden_dim": 64,
        "max_position_embeddings": 64,
    },
    "modernbert": {
        **MEDIUM,
        "global_attn_every_n_layers": 2,
        "local_attention": 16,
        "reference_compile": False,
    },
    "xlnet": {"d_model": 32, "n_layer": 3, "n_head": 2, "d_inner": 64},
}


def tiny_encoder(folder: Path, family: str = "bert", seed: int = 0, **changes: object) -> str:
    """Writes an encoder of this family; returns its folder, for the setting `encoder.name`."""
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        family,
        vocab_size=len(SPECIAL) + len(WORDS),
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        cls_token_id=2,
        sep_token_id=3,
        **{**FAMILIES[family], **changes},
    )
    AutoModel.from_config(config).save_pretrained(folder)
    tiny_tokenizer(family).save_pretrained(folder)
    return str(folder)


def tiny_xlnet(folder: Path, texts: Sequence[str], pieces: int) -> str:
    """XLNet with its own kind of tokenizer: SentencePiece, trained on these texts; cased."""
    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=pieces, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    trained.train_from_iterator(texts, trainer)
    vocabulary = json.loads(trained.to_str())["model"]["vocab"]
    tokenizer = XLNetTokenizerFast(vocab=[(piece, score) for piece, score in vocabulary])
    torch.manual_seed(0)
    config = AutoConfig.for_model("xlnet", vocab_size=len(tokenizer), **FAMILIES["xlnet"])
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def tiny_tokenizer(family: str) -> PreTrainedTokenizerFast:
    """Whole words of the planted texts, laid out as the family wants it."""
    template, side, pad_type = LAST if family == "xlnet" else FIRST
    vocabulary = {word: place for place, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[unk]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single=template, special_tokens=[("[cls]", 2), ("[sep]", 3)]
    )
    names = ["input_ids", "attention_mask"]
    if family in ("bert", "electra", "xlnet"):
        names.append("token_type_ids")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[unk]",
        pad_token="[pad]",
        cls_token="[cls]",
        sep_token="[sep]",
        padding_side=side,
        pad_token_type_id=pad_type,
        model_input_names=names,
    )
