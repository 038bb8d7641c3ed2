"""xml_cnn: a convolutional network over words, and a weight vector per label. (Liu et al., 2017)

Windows of 2, 4 and 8 words, max-pooled over parts of the text (dynamic max pooling), then a hidden
layer. It is trained from the texts alone. The output layer is lightxml's.
"""

from __future__ import annotations

from dataclasses import dataclass

from xmtc.core.config import group, setting
from xmtc.core.dataset import Dataset
from xmtc.core.parts import Parts
from xmtc.core.run import NO_RUN, Run
from xmtc.models import lightxml
from xmtc.models.holdout import require_texts
from xmtc.models.lightxml import LightXML
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import (
    VECTOR_DROPOUT,
    HeadConfig,
    OptimizerConfig,
    TrainingConfig,
    XmlCnnEncoder,
)

KIND = "xml_cnn"


@dataclass(frozen=True)
class Config(lightxml.FlatConfig):
    """A small CNN over words, trained from the texts alone: a neural baseline. Minutes."""

    encoder: XmlCnnEncoder = group(XmlCnnEncoder, "what reads the texts")
    training: TrainingConfig = group(
        lambda: TrainingConfig(
            epochs=10, optimizer=OptimizerConfig(encoder_lr=3e-4), head=HeadConfig(warmup_epochs=10)
        )
    )
    dropout: float = setting(0.5, VECTOR_DROPOUT, low=0, below=1)


@dataclass(frozen=True, repr=False)
class XmlCnn(LightXML):
    """A finished encoder with its output layer."""

    kind: str = KIND

    @staticmethod
    def from_parts(parts: Parts) -> XmlCnn:
        """The model as it was saved, checked."""
        return XmlCnn(**lightxml.saved_fields(parts, parts.config(Config)))


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> XmlCnn:
    """Train the encoder and the output layer together."""
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    model = lightxml.train(dataset, config, run)
    return XmlCnn(**{**vars(model), "kind": KIND})
