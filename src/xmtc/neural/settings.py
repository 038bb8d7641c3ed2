"""Settings of encoders and of training. No torch here, so that listing settings is quick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from xmtc.core.config import changed, check_bounds, group, setting
from xmtc.core.errors import require

Pooling = Literal["mean", "cls", "max", "pooler"]
# Of an output layer: binary cross-entropy, or how far margins fall short of 1.
LabelLoss = Literal["bce", "hinge", "squared_hinge"]
Metric = Literal["P@1", "P@3", "P@5", "nDCG@5"]
METRICS: tuple[str, ...] = get_args(Metric)

MAX_TOKENS = "maximum tokens of a text; time grows with it"
DROPOUT = "dropout inside the encoder"
VECTOR_DROPOUT = "dropout on the text vector"
MAX_LEAF = "maximum labels in a cluster"
MAX_FLAT_LABELS = "maximum labels without clusters (None: no limit)"
STANDARDIZE = "output layers read vectors of zero mean and unit variance"
METRIC = "validation metric of the best epoch"
WIDEST = 1 << 16


@dataclass(frozen=True)
class PublishedPretrained:
    """What exists for a paper's code."""

    pooled_layers: int = setting(
        1, "last layers whose pooled states are concatenated", low=1, high=100
    )
    cls_position: Literal["tokenizer", "first"] = setting(
        "tokenizer", "position of the CLS token; first: LightXML's code, wrong for XLNet"
    )
    long_texts: Literal["head", "head_tail"] = setting(
        "head", "part of a longer text that is read; head_tail: its beginning and its end"
    )
    frozen_cache: Literal["fp16", "fp32"] | None = setting(
        "fp16", "precision of cached states of frozen layers (None: no cache)"
    )

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class Pretrained:
    """A pretrained transformer encoder."""

    TYPE: ClassVar[str] = "pretrained"
    name: str = setting("minilm", "name or folder of the encoder, see `xmtc encoders`")
    max_tokens: int = setting(256, MAX_TOKENS, low=8, high=WIDEST)
    max_chunks: int | None = setting(
        None,
        "maximum chunks of max_tokens read from a longer text (None: truncate)",
        low=1,
        high=1000,
    )
    pooling: Pooling = setting("mean", "how token states become one vector")
    trainable_layers: int | None = setting(
        2, "last layers that are fine-tuned (None: all)", low=0, high=1000
    )
    dropout: float | None = setting(0.0, f"{DROPOUT} (None: as pretrained)", low=0, below=1)
    int8: bool = setting(False, "rank with 8-bit weights: faster, a little less exact")
    published: PublishedPretrained = group(PublishedPretrained)

    def __post_init__(self) -> None:
        check_bounds(self)
        require(
            self.pooling != "pooler" or self.published.pooled_layers == 1,
            "published.pooled_layers",
            self.published.pooled_layers,
            "a pooler reads one layer; set published.pooled_layers=1, or pooling=cls",
        )

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of long texts, CLS and cache that this combination does not use."""
        unused = {
            "cls_position": "only pooling=cls reads the CLS token" * (self.pooling != "cls"),
            "long_texts": "max_chunks reads all of a text" * (self.max_chunks is not None),
            "frozen_cache": "no layer is frozen" * (self.trainable_layers is None),
        }
        for name in changed(self.published, *unused):
            if unused[name]:
                yield f"published.{name}", unused[name]


@dataclass(frozen=True)
class WordEncoderConfig:
    """What encoders that are trained from the texts alone have in common."""

    TYPE: ClassVar[str] = ""
    vocabulary_size: int = setting(50_000, "maximum words, by frequency", low=10, high=1 << 30)
    embedding_dim: int = setting(128, "dimension of word vectors", low=8, high=8192)
    max_tokens: int = setting(256, MAX_TOKENS, low=8, high=WIDEST)
    dropout: float = setting(0.2, DROPOUT, low=0, below=1)

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class BiLstmEncoder(WordEncoderConfig):
    """A bidirectional LSTM over words."""

    TYPE: ClassVar[str] = "bilstm"
    pooling: Literal["mean", "cls", "max"] = setting("mean", "how token states become one vector")


@dataclass(frozen=True)
class CnnEncoder(WordEncoderConfig):
    """Convolutions over windows of one, three and five words."""

    TYPE: ClassVar[str] = "cnn"
    pooling: Literal["mean", "cls", "max"] = setting("mean", "how token states become one vector")


@dataclass(frozen=True)
class XttentionEncoder(WordEncoderConfig):
    """X-BERT's other matcher: a bidirectional LSTM with several attention heads over words."""

    TYPE: ClassVar[str] = "xttention"
    embedding_dim: int = setting(256, "dimension of word vectors", low=8, high=8192)
    views: int = setting(
        30, "attention heads, each a weighted sum of the words' states", low=1, high=1000
    )
    hidden_dim: int = setting(2000, "dimension of the text vector", low=1, high=WIDEST)


@dataclass(frozen=True)
class PublishedXmlCnn:
    """What exists for the paper's code."""

    stride: int = setting(
        1, "words from one window to the next; the published code has 2", low=1, high=8
    )

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class XmlCnnEncoder(WordEncoderConfig):
    """XML-CNN: convolutions over words, dynamic max pooling, a hidden layer."""

    TYPE: ClassVar[str] = "xml_cnn"
    filters: int = setting(128, "filters of each of the three window sizes", low=1, high=8192)
    pools: int = setting(2, "parts of a text, each max-pooled by every filter", low=1, high=1000)
    hidden_dim: int = setting(512, "dimension of the text vector", low=1, high=WIDEST)
    published: PublishedXmlCnn = group(PublishedXmlCnn)


EncoderConfig = Pretrained | BiLstmEncoder | CnnEncoder | XttentionEncoder | XmlCnnEncoder


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW."""

    encoder_lr: float = setting(1e-4, "learning rate of the encoder", above=0)
    head_lr: float = setting(1e-3, "learning rate of the output layers", above=0)
    weight_decay: float = setting(0.01, "weight decay; none for biases and norms", low=0)
    max_grad_norm: float | None = setting(1.0, "maximum gradient norm (None: no clipping)", above=0)

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class ScheduleConfig:
    """How learning rates change."""

    name: Literal["linear", "constant", "plateau"] = setting(
        "linear", "linear decay to 0, constant, or lowered when validations stop improving"
    )
    warmup: float = setting(
        0.1, "fraction of the steps during which learning rates increase", low=0, below=1
    )

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class HeadConfig:
    """The output layers before fine-tuning."""

    warmup_epochs: int = setting(6, "epochs of head-only warm-up on cached vectors", low=0)

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class Averaging:
    """Stochastic weight averaging (SWA)."""

    from_epoch: int = setting(0, "first epoch, from 0, whose weights enter the average", low=0)
    every_steps: int = setting(100, "steps between two snapshots that enter the average", low=1)

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class PublishedTraining:
    """What exists for a paper's code, for an ablation or for several machines."""

    epsilon: float = setting(1e-8, "epsilon of AdamW; LightXML and GUDN used 1e-6", above=0)
    accumulate: int = setting(1, "batches per optimizer step (gradient accumulation)", low=1)
    validate_every: int | None = setting(
        None, "steps between validations inside an epoch (None: after each epoch only)", low=1
    )
    dropout_off_after_validation: bool = setting(
        False, "no dropout from a validation inside an epoch to its end: LightXML's code"
    )
    token_fraction: float = setting(
        1.0, "fraction of each text's tokens sampled per training step: faster", above=0, high=1
    )
    shard_labels: bool = setting(
        False, "torchrun: each process holds its own rows of the output layers only"
    )

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class FineTuning:
    """How an encoder and its output layers are trained."""

    epochs: int = setting(3, "epochs of fine-tuning; 0: the encoder stays as it is", low=0)
    batch_size: int = setting(32, "maximum texts per batch", low=1)
    batch_tokens: int = setting(8192, "maximum tokens per batch, padding included", low=8)
    optimizer: OptimizerConfig = group(OptimizerConfig)
    schedule: ScheduleConfig = group(ScheduleConfig)
    precision: Literal["fp32", "bf16", "fp16"] = setting(
        "fp32", "precision of matrix products; bf16 needs hardware support"
    )
    validation: float | None = setting(
        None, "fraction of the texts held out to select the best epoch", above=0, below=1
    )
    metric: Metric = setting("P@5", METRIC)
    patience: int = setting(3, "epochs without improvement before training stops", low=1)
    seed: int = setting(0, "random seed", low=0)
    published: PublishedTraining = group(PublishedTraining)

    def __post_init__(self) -> None:
        check_bounds(self)
        sound = not self.published.shard_labels or self.precision != "fp16"
        expected = "does not work with precision=fp16; set precision=bf16"
        require(sound, "published.shard_labels", True, expected)

    @property
    def averaging(self) -> Averaging | None:
        """Stochastic weight averaging."""
        return None

    @property
    def warmup_epochs(self) -> int:
        """Epochs of head-only warm-up."""
        return 0

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of validations that do not happen."""
        if self.published.dropout_off_after_validation and self.published.validate_every is None:
            yield (
                "published.dropout_off_after_validation",
                "published.validate_every=none: no validation inside an epoch",
            )


@dataclass(frozen=True)
class AveragedTraining(FineTuning):
    """The same, with stochastic weight averaging."""

    averaging: Averaging | None = group(None, "stochastic weight averaging (None: off)")

    def __post_init__(self) -> None:
        super().__post_init__()
        start = -1 if self.averaging is None else self.averaging.from_epoch
        expected = f"must be below epochs={self.epochs}; to switch averaging off: averaging=none"
        require(start < self.epochs, "averaging.from_epoch", start, expected)


@dataclass(frozen=True)
class TrainingConfig(AveragedTraining):
    """The same, after a warm-up of the output layers."""

    head: HeadConfig = group(HeadConfig)

    @property
    def warmup_epochs(self) -> int:
        """Epochs of head-only warm-up."""
        return self.head.warmup_epochs


@dataclass(frozen=True)
class PublishedGuides:
    """What exists for the paper's equations, its code or its ablations."""

    feature_weight: float = setting(
        1.0,
        "weight of the feature guide: the text vector moves towards its labels'; 0 disables",
        low=0,
    )
    link_weight: float = setting(
        1.0, "weight of the link guide: label texts are classified too; 0 disables", low=0
    )
    text_weight: float = setting(1.0, "weight of the classification loss of the texts", low=0)
    features: Literal["concat", "pooler"] = setting(
        "concat", "vectors that the feature guide compares; pooler: the authors' code"
    )
    distance: Literal["mean", "paper"] = setting(
        "mean", "feature loss: mean of squares, or the paper's sum over 2 · texts"
    )
    labels_as: Literal["text", "one_hot"] = setting(
        "text", "labels as label texts; one_hot: a small network instead, the paper's ablation"
    )
    max_tokens: int = setting(64, "maximum tokens of a label text", low=8, high=WIDEST)
    order: Literal["fixed", "shuffled"] = setting(
        "fixed", "order of a text's labels in the label text; shuffled: drawn in each epoch"
    )
    underscores: Literal["space", "keep"] = setting(
        "space", "underscores in label texts; keep: the authors' code"
    )

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class GuideConfig:
    """What label texts contribute to training."""

    label_text: Literal["text", "name", "both"] = setting(
        "text", "label text: the description if there is one, else the name; the name; or both"
    )
    published: PublishedGuides = group(PublishedGuides)

    @property
    def any(self) -> bool:
        """Whether there is any guide."""
        return self.published.feature_weight > 0 or self.published.link_weight > 0

    @property
    def needs_pooler(self) -> bool:
        """Whether a guide needs the encoder's own pooler."""
        return self.published.feature_weight > 0 and self.published.features == "pooler"

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of guides that are off, and of label texts that nothing reads."""
        published = self.published
        reason = "labels_as=one_hot reads no label texts"
        if not self.any:
            reason = "feature_weight=0 and link_weight=0: there is no guide"
        if not self.any or published.labels_as == "one_hot":
            yield from ((name, reason) for name in changed(self, "label_text"))
            for name in changed(published, "max_tokens", "order", "underscores"):
                yield f"published.{name}", reason
        if not published.feature_weight:
            for name in changed(published, "features", "distance"):
                yield f"published.{name}", "published.feature_weight=0"


def untrained(config: Any) -> Iterator[tuple[str, str]]:
    """Settings of the training of a neural kind where nothing, or no encoder, is trained."""
    encoder = config.encoder
    names: tuple[str, ...] = ()
    if isinstance(encoder, Pretrained) and encoder.trainable_layers == 0:
        names = ("optimizer.encoder_lr",)
        reason = "encoder.trainable_layers=0"
    if config.training.epochs == 0:
        names = ("optimizer.encoder_lr", "optimizer.head_lr")
        reason = "training.epochs=0: the encoder is not fine-tuned"
        if not config.training.warmup_epochs:
            names += ("optimizer.weight_decay", "optimizer.max_grad_norm", "schedule")
            names += ("batch_size", "batch_tokens", "validation", "metric", "patience")
    yield from ((name, reason) for name in changed(config, *(f"training.{each}" for each in names)))


def refuse_shards(kind: str, training: FineTuning) -> None:
    """Raise when the kind's output layers cannot be sharded and should be."""
    expected = f"does not work with {kind}; leave it off, or train lightxml"
    require(not training.published.shard_labels, "training.published.shard_labels", True, expected)
