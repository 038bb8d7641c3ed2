"""xml_cnn: a convolutional network over words, and a weight vector per label. (Liu et al., 2017)

Windows of 2, 4 and 8 words; each part of a text keeps the strongest sign of each filter (dynamic
max pooling); a hidden layer makes a vector of them. It is learned from your texts alone. The output
layer is lightxml's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Literal

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Floats, Inputs
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.models import lightxml
from xmtc.models.holdout import require_texts
from xmtc.models.lightxml import LightXML
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import EncoderConfig, TrainingConfig

KIND = "xml_cnn"
EVERY_LABEL = 1 << 31  # no clusters, however many labels there are


@dataclass(frozen=True)
class Config:
    """A small CNN over words, learned from your texts alone: a neural baseline. Minutes."""

    encoder: EncoderConfig = field(
        default_factory=lambda: EncoderConfig(
            "xml_cnn", max_tokens=256, width=128, hidden=512, pools=2
        )
    )
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            epochs=10, head_epochs=10, encoder_rate=3e-4, head_rate=1e-3
        )
    )
    dropout: float = 0.5  # share of the text vector that is hidden in each training step
    loss: Literal["sum", "mean"] = "sum"  # over labels; mean learns more slowly
    start_at_frequency: bool = True  # begin with how frequent each label is, not by chance
    standardise: bool = True  # the output layer reads vectors of mean 0, spread 1: learns faster

    def __post_init__(self) -> None:
        self.plain()  # which checks it

    def plain(self) -> lightxml.Config:
        """What it is for lightxml: another encoder, never clusters."""
        mine = {each.name: getattr(self, each.name) for each in fields(self)}
        return lightxml.Config(**mine, plain_up_to=EVERY_LABEL)


# As published, but for GloVe's word vectors. Filters and pools depended on the data set, 32 to 128
# and 2 to 32; the authors do not say which were whose.
PUBLISHED = Config(
    EncoderConfig("xml_cnn", max_tokens=501, dropout=0.25, width=300, hidden=512, stride=2),
    TrainingConfig(
        epochs=20,
        encoder_rate=1e-3,
        head_rate=1e-3,
        decay=0.0,
        warmup=0.0,
        schedule="constant",
        clip=0.0,
    ),
    loss="mean",
    start_at_frequency=False,
    standardise=False,
)


@dataclass(frozen=True, repr=False)
class XmlCnn:
    """A finished encoder with its output layer."""

    config: Config
    ranker: LightXML
    trained_on: TrainedOn
    kind: str = KIND

    def __repr__(self) -> str:
        return repr(self.ranker)

    @property
    def labels(self) -> LabelSpace:
        """What its label ids mean."""
        return self.ranker.labels

    def encode(self, inputs: Inputs) -> Floats:
        """(texts, hidden) what the output layer reads."""
        return self.ranker.encode(inputs)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels of all."""
        return self.ranker.rank(inputs, k, allowed)

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, its words included."""
        inner = replace(self.ranker, trained_on=self.trained_on).to_parts()
        return replace(inner, settings=settings.to_dict(self.config))

    @staticmethod
    def from_parts(parts: Parts) -> XmlCnn:
        """The model as it was saved, checked."""
        config = parts.config(Config)
        inner = replace(parts, settings=settings.to_dict(config.plain()))
        return XmlCnn(config, replace(LightXML.from_parts(inner), kind=KIND), parts.trained_on)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> XmlCnn:
    """Teach the encoder and the output layer together."""
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    ranker = replace(lightxml.train(dataset, config.plain(), run), kind=KIND)
    return XmlCnn(config, ranker, ranker.trained_on)
