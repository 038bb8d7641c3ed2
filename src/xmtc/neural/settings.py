"""Settings of encoders and of training. No torch here, so that listing settings is quick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xmtc.core.errors import require

Vector = Literal["mean", "cls", "max", "pooler"]
# Of an output layer: binary cross-entropy of probabilities, or how far margins fall short of 1.
Loss = Literal["bce", "hinge", "squared_hinge"]


@dataclass(frozen=True)
class EncoderConfig:
    """What reads the text, and how its vector is made."""

    name: str = "minilm"  # see `xmtc encoders`: minilm, bilstm, cnn, ..., a folder
    max_tokens: int = 128  # longer texts are cut; time grows with it
    long_texts: Literal["head", "head_tail", "chunks"] = "head"  # what is kept of a longer text
    max_chunks: int = 4  # pieces of max_tokens that a long text is read in, with chunks
    vector: Vector = "mean"  # of the tokens' states: mean, max, the CLS token's, or the pooler's
    cls_position: Literal["true", "first"] = "true"  # first: LightXML's code, wrong for XLNet
    layers: int = 1  # vectors of as many last layers, side by side
    trainable_layers: int = -1  # only the last ones learn, which is faster; -1: all
    frozen_cache: Literal["fp16", "fp32", "none"] = "fp16"  # of what the frozen layers make
    dropout: float = -1.0  # inside the encoder; -1: as it was made
    attention: Literal["fast", "eager", "measured"] = "fast"  # fast: SDPA where the encoder has it
    int8: bool = False  # rank with 8-bit weights: faster, a little less exact
    words: int = 50_000  # vocabulary of encoders learned from the texts, the most frequent words
    width: int = 256  # size of a word's vector in encoders learned from the texts
    views: int = 30  # of xttention: so many weighted sums of a text's words, side by side
    hidden: int = 2000  # size of the vector of a text in xttention and xml_cnn
    filters: int = 128  # of xml_cnn: signs that each of its three windows looks for
    pools: int = 8  # of xml_cnn: parts of a text, each of which keeps its strongest signs
    stride: int = 1  # of xml_cnn: words from one window to the next; published code has 2

    def __post_init__(self) -> None:
        require(
            8 <= self.max_tokens <= 1 << 16,
            "max_tokens",
            self.max_tokens,
            "must lie between 8 and 65536",
        )
        require(1 <= self.max_chunks <= 1000, "max_chunks", self.max_chunks, "1 to 1000")
        require(1 <= self.layers <= 100, "layers", self.layers, "must be at least 1")
        require(
            self.trainable_layers >= -1,
            "trainable_layers",
            self.trainable_layers,
            "must be 0 or more, or -1 for all",
        )
        require(
            self.dropout == -1 or 0 <= self.dropout < 1,
            "dropout",
            self.dropout,
            "must lie between 0 and 1, or be -1",
        )
        require(
            self.vector != "pooler" or self.layers == 1,
            "layers",
            self.layers,
            "a pooler reads one layer; use layers=1, or vector=cls",
        )
        require(self.words >= 10, "words", self.words, "must be at least 10")
        require(8 <= self.width <= 8192, "width", self.width, "must lie between 8 and 8192")
        require(1 <= self.views <= 1000, "views", self.views, "must lie between 1 and 1000")
        require(1 <= self.hidden <= 1 << 16, "hidden", self.hidden, "from 1 to 65536")
        require(1 <= self.filters <= 8192, "filters", self.filters, "must lie between 1 and 8192")
        require(1 <= self.pools <= 1000, "pools", self.pools, "must lie between 1 and 1000")
        require(1 <= self.stride <= 8, "stride", self.stride, "must lie between 1 and 8")


def cpu_encoder() -> EncoderConfig:
    """What models read with unless told otherwise: two layers of a small encoder learn."""
    return EncoderConfig(max_tokens=256, trainable_layers=2, dropout=0.0)


Metric = Literal["P@1", "P@3", "P@5", "nDCG@5", "P@1-10"]


@dataclass(frozen=True)
class TrainingConfig:
    """How the weights learn."""

    epochs: int = 10  # passes over the texts; 0: the encoder stays as it is
    extra_epochs: int = 0  # as many more; LightXML's code adds 5 to what it is asked for
    head_epochs: int = 0  # passes before, by the output layers alone on ready vectors: quick
    head_last_epochs: int = 0  # passes after, by the output layers alone, when vectors rest: quick
    batch: int = 32  # texts per step, at most
    batch_tokens: int = 8192  # tokens per step, at most, padding included
    tokens_seen: float = 1.0  # share of a text's tokens that a step reads, by chance: faster
    group_by_length: bool = True  # texts of like length together: less padding, faster
    fused_adamw: bool = True  # all weights change in one go; False: one after the other, slower
    encoder_rate: float = 2e-4  # learning rate of the encoder
    head_rate: float = 5e-3  # learning rate of the output layers
    head_first_rate: float = 3e-3  # the same, in the passes before, that they learn alone
    head_last_rate: float = 1e-3  # the same, in the passes after
    decay: float = 0.01  # of weights; not of biases and norms
    epsilon: float = 1e-8  # of AdamW; LightXML and GUDN used 1e-6
    schedule: Literal["linear", "constant", "slanted", "plateau"] = "linear"  # of learning rates
    warmup: float = 0.1  # share of the steps in which the learning rates climb
    accumulate: int = 1  # batches per step
    clip: float = 1.0  # longest gradient; 0: any
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"  # bf16: faster where a processor has it
    average_from: int | None = None  # epoch (from 0) from which weights are averaged (SWA)
    average_every: int = 100  # steps between two weights that enter the average
    validation: float = 0.0  # share of the texts held out to choose the best epoch
    validate_every: int = 0  # steps between validations inside an epoch; 0: only after each
    dropout_off_after_validation: bool = False  # until the epoch ends: LightXML's code
    shard_labels: bool = False  # torchrun: each process holds its rows of the label side only
    metric: Metric = "P@5"  # by which the best epoch is chosen; P@1-10: xbert's mean of clusters
    patience: int = 3  # epochs without a better one before training stops
    checkpoint_seconds: float = 120.0  # between two checkpoints, where a run is kept
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (
            ("epochs", 0),
            ("batch", 1),
            ("batch_tokens", 8),
            ("accumulate", 1),
            ("average_every", 1),
            ("patience", 1),
            ("seed", 0),
            ("head_epochs", 0),
            ("head_last_epochs", 0),
            ("validate_every", 0),
            ("extra_epochs", 0),
        ):
            value = getattr(self, name)
            require(value >= least, name, value, f"must be at least {least}")
        for name in ("encoder_rate", "head_rate", "head_first_rate", "head_last_rate", "epsilon"):
            require(getattr(self, name) > 0, name, getattr(self, name), "must be above 0")
        require(0 < self.tokens_seen <= 1, "tokens_seen", self.tokens_seen, "above 0, at most 1")
        last = self.epochs + self.extra_epochs
        require(
            self.average_from is None or 0 <= self.average_from < last,
            "average_from",
            self.average_from,
            f"must be an epoch from 0 to {last - 1}, or none",
        )
        for name in ("decay", "clip", "checkpoint_seconds"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "must not be negative")
        for name in ("warmup", "validation"):
            require(0 <= getattr(self, name) < 1, name, getattr(self, name), "from 0 to below 1")
        require(
            not self.shard_labels or self.precision != "fp16",
            "shard_labels",
            True,
            "does not go with fp16; take bf16",
        )


def cpu_training() -> TrainingConfig:
    """How models learn unless told otherwise: output layers alone first, then a few epochs."""
    return TrainingConfig(epochs=3, head_epochs=6, encoder_rate=1e-4, head_rate=1e-3)


@dataclass(frozen=True)
class GuideConfig:
    """What the texts of labels teach while training; a guide of weight 0 costs nothing."""

    feature_weight: float = 1.0  # feature guide: a text's vector is drawn to its labels'
    link_weight: float = 1.0  # link guide: the output layer finds the labels in their own text too
    text_weight: float = 1.0  # of the loss that needs no guide
    features: Literal["concat", "pooler"] = "concat"  # what is drawn; pooler: the authors' code
    distance: Literal["mean", "paper"] = "mean"  # mean of squares, or the paper's sum / 2 texts
    labels_as: Literal["text", "one_hot"] = "text"  # one_hot: no text, a small network; ablation
    say: Literal["text", "name", "both"] = "text"  # text: the description if there is one
    max_tokens: int = 64  # all labels of a text are one label text, which is cut here
    order: Literal["fixed", "shuffled"] = "fixed"  # of labels; shuffled: anew in each epoch
    underscores: Literal["space", "keep"] = "space"  # keep: the authors' code

    def __post_init__(self) -> None:
        for name in ("feature_weight", "link_weight", "text_weight"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "must not be negative")
        require(
            8 <= self.max_tokens <= 1 << 16,
            "max_tokens",
            self.max_tokens,
            "must lie between 8 and 65536",
        )

    @property
    def guides(self) -> bool:
        """Whether there is any guide at all."""
        return self.feature_weight > 0 or self.link_weight > 0

    @property
    def pooler(self) -> bool:
        """Whether a guide needs the encoder's own pooler."""
        return self.feature_weight > 0 and self.features == "pooler"
