"""xml_cnn: a convolutional network over words, and a weight vector per label. (Liu et al., 2017)

Windows of 2, 4 and 8 words; each part of a text keeps the strongest sign of each filter (dynamic
max pooling); a hidden layer makes a vector of them. It is learned from your texts alone. The output
layer is lightxml's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Floats, Inputs
from xmtc.core.config import LARGEST, group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.models import lightxml
from xmtc.models.holdout import require_texts
from xmtc.models.lightxml import LightXML
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import HeadConfig, OptimizerConfig, TrainingConfig, XmlCnnEncoder

KIND = "xml_cnn"


@dataclass(frozen=True)
class Config(lightxml.Config):
    """A small CNN over words, learned from your texts alone: a neural baseline. Minutes."""

    encoder: XmlCnnEncoder = group(XmlCnnEncoder, "what reads the texts")
    training: TrainingConfig = group(
        lambda: TrainingConfig(
            epochs=10,
            optimizer=OptimizerConfig(encoder_lr=3e-4),
            head=HeadConfig(warmup_epochs=10),
        )
    )
    dropout: float = setting(0.5, "dropout on the text vector")
    max_flat_labels: int = setting(LARGEST, "up to so many labels there are no clusters")


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
        return XmlCnn(config, lightxml.restored(parts, config, KIND), parts.trained_on)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> XmlCnn:
    """Teach the encoder and the output layer together."""
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    ranker = replace(lightxml.train(dataset, config, run), kind=KIND)
    return XmlCnn(config, ranker, ranker.trained_on)
