"""gudn: what the labels of a text say guides the encoder while it learns. (Wang et al., 2022)

All labels of a text make one label text, which passes through the same encoder. The feature guide
draws the text's vector to that of its label text; the link guide has the output layer find the
labels in it. A finished model knows nothing of this: encoder and output layers as in lightxml.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Floats, Inputs
from xmtc.core.config import group
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.core.tree import LabelTree
from xmtc.labels.label_text import are_codes, label_texts
from xmtc.models import lightxml
from xmtc.models.holdout import metrics_of, require_texts, split_validation
from xmtc.models.lightxml import LightXML, label_tree, output_layers
from xmtc.neural.extra import require_neural
from xmtc.neural.heads.new_labels import with_nodes
from xmtc.neural.settings import GuideConfig, Pretrained

if TYPE_CHECKING:
    from xmtc.neural.devices import Rng
    from xmtc.neural.training.prepared import Prepared
    from xmtc.neural.training.task import LabelTask

KIND = "gudn"
SOME = 256  # texts or labels that are enough for an average


@dataclass(frozen=True)
class Config(lightxml.Config):
    """lightxml, trained with label texts too: for labels that say what they mean."""

    encoder: Pretrained = group(Pretrained, "what reads the texts")
    guides: GuideConfig = group(GuideConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        negatives = self.published.negatives
        require(negatives == "dynamic", "published.negatives", negatives, "must be dynamic")


@dataclass(frozen=True, repr=False)
class Gudn:
    """A finished encoder with its output layers. What guided them is gone."""

    config: Config
    ranker: LightXML
    trained_on: TrainedOn
    middle: Floats  # (dim,) an average text: what new labels are measured by
    taught: int  # labels that were there in training; others were added behind them
    kind: str = KIND

    def __repr__(self) -> str:
        return repr(self.ranker)

    @property
    def labels(self) -> LabelSpace:
        """What its label ids mean."""
        return self.ranker.labels

    def encode(self, inputs: Inputs) -> Floats:
        """(texts, dim) what the output layers read."""
        return self.ranker.encode(inputs)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels, as lightxml ranks them."""
        return self.ranker.rank(inputs, k, allowed)

    def texts_of(self, labels: LabelSpace) -> list[str]:
        """What these labels say, as label texts were read in training."""
        return label_texts(
            labels, self.config.guides.label_text, self.config.guides.published.underscores
        )

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, the encoder and its tokenizer included."""
        inner = replace(self.ranker, trained_on=self.trained_on).to_parts()
        taught = np.array([self.taught], np.int32)
        arrays = {**inner.arrays, "middle": self.middle, "taught": taught}
        return replace(inner, settings=settings.to_dict(self.config), arrays=arrays)

    @staticmethod
    def from_parts(parts: Parts) -> Gudn:
        """The model as it was saved, checked."""
        config = parts.config(Config)
        ranker = lightxml.restored(parts, config, KIND)
        middle = parts.array("middle", np.float32, (ranker.encoders[0].dim,))
        taught = len(parts.labels)
        if "taught" in parts.arrays:  # before, added labels were not told apart
            taught = max(1, int(parts.ids("taught", taught + 1, 1)[0]))
        return Gudn(config, ranker, parts.trained_on, middle, taught)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Gudn:
    """Cluster the labels where there are many, then teach from texts and from label texts."""
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    from xmtc.neural.devices import Rng

    _warn_of_codes(dataset.labels, config.guides)
    learned, held_out = split_validation(dataset, config.training)
    tree = label_tree(learned, config)
    rng = Rng(config.training.seed)
    with run.with_cache() as cached:
        ranker = _taught(learned, held_out, tree, config, cached, rng)
    ranker.encoders[0].finish()
    seen = dataset.trained_on()
    some = np.linspace(0, len(learned) - 1, min(SOME, len(learned))).astype(int)
    middle = ranker.encode([learned.texts[row] for row in some]).mean(0)
    return Gudn(config, replace(ranker, trained_on=seen), seen, middle, len(dataset.labels))


def with_labels(model: Gudn, labels: LabelSpace, vectors: Floats, seen: TrainedOn) -> Gudn:
    """The model with more labels. Texts and label texts share a space, so a vector is enough.

    labels: those of the model, then the new ones. vectors: (new labels, dim) what stands for each.
    """
    ranker = model.ranker
    taught = model.taught
    some = np.linspace(0, taught - 1, min(SOME, taught)).astype(int)
    texts = model.texts_of(model.labels)
    usual = model.encode([texts[label] for label in some]).mean(0)
    last = with_nodes(ranker.scorers[-1], taught, vectors, usual, model.middle)
    tree = LabelTree.flat(len(labels))
    above = ranker.scorers[:-1]
    if above:
        clusters = np.tile(np.arange(len(above[0].weights), dtype=np.int32), (len(vectors), 1))
        likeliest = above[0].score(vectors, clusters).argmax(1).astype(np.int32)
        parents = np.concatenate([ranker.tree.parents[-1], likeliest])
        tree = LabelTree((*ranker.tree.parents[:-1], parents))
    wider = replace(ranker, tree=tree, scorers=(*above, last), labels=labels, trained_on=seen)
    return replace(model, ranker=wider, trained_on=seen)


def _taught(
    dataset: Dataset,
    held_out: Dataset | None,
    tree: LabelTree,
    config: Config,
    run: Run,
    rng: Rng,
) -> LightXML:
    from xmtc.neural.training.prepared import fine_tune, prepare

    labels = dataset.labels
    texts = label_texts(labels, config.guides.label_text, config.guides.published.underscores)
    key = training_key({**settings.to_dict(config), "said": texts}, dataset)
    lesson = prepare(
        dataset.texts,
        config.encoder,
        config.training,
        run,
        key,
        rng,
        corpus=dataset.fingerprint,
        standardize=config.published.standardize,
        pooler=config.guides.needs_pooler,
    )
    with rng.turn():
        head = output_layers(dataset, tree, lesson.encoder.dim, config)

    def ranker() -> LightXML:
        scorers = tuple(each.of_raw(lesson.standard) for each in head.scorers())
        seen = dataset.trained_on()
        return LightXML(config, (lesson.encoder,), tree, scorers, labels, seen, KIND)

    def measure() -> dict[str, float]:
        lesson.encoder.eval()
        return metrics_of(ranker(), held_out)

    task = lesson.task(head, dataset.relevant, config.dropout, measure)
    fine_tune(lesson, _guided(task, lesson, texts, config.guides) if config.guides.any else task)
    return ranker()


def _guided(task: LabelTask, lesson: Prepared, said: list[str], guides: GuideConfig) -> LabelTask:
    from xmtc.neural.devices import device
    from xmtc.neural.training.guided_loss import guided
    from xmtc.neural.training.label_texts import (
        LabelReader,
        OneHot,
        OneHotReader,
        label_text_reader,
    )

    encoder = lesson.encoder
    reader: LabelReader
    if guides.published.labels_as == "one_hot":
        width = encoder.body.width if guides.needs_pooler else None
        with lesson.rng.turn():
            network = OneHot(len(said), encoder.dim, width).to(device())
        reader = OneHotReader(network, task.relevant)
    else:
        cache = lesson.run.cache
        reader = label_text_reader(lesson.source, encoder, said, task.relevant, guides, cache)
    return guided(task, reader, guides)


def _warn_of_codes(labels: LabelSpace, guides: GuideConfig) -> None:
    if not guides.any or guides.published.labels_as != "text":
        return
    if are_codes(label_texts(labels, guides.label_text, guides.published.underscores)):
        some = ", ".join(map(repr, labels.names[:3]))
        logging.getLogger("xmtc").warning(
            "gudn learns from what labels say, and most of these look like codes: %s. Give the "
            "labels texts (docs/formats.md), or use lightxml. It is trained all the same.",
            some,
        )
