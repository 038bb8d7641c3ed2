"""gudn: label texts guide the training of the encoder. (Wang et al., 2022)

All labels of a text make one label text, which passes through the same encoder. The feature guide
moves the text's vector towards that of its label text; with the link guide the output layer also
classifies label texts. The finished model is an encoder with output layers, as in lightxml.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from xmtc.core.arrays import Floats
from xmtc.core.config import group
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.core.run import NO_RUN, Run
from xmtc.core.tree import LabelTree
from xmtc.labels.label_text import are_codes, label_texts
from xmtc.models import lightxml
from xmtc.models.lightxml import LightXML, label_tree, output_layers
from xmtc.models.neural_recipe import begin
from xmtc.neural.heads.new_labels import with_nodes
from xmtc.neural.settings import GuideConfig, Pretrained

if TYPE_CHECKING:
    from xmtc.neural.training.prepared import Prepared
    from xmtc.neural.training.task import LabelTask

KIND = "gudn"
SAMPLE = 256  # texts or labels that are enough for a mean


@dataclass(frozen=True)
class Config(lightxml.Config):
    """lightxml, trained with label texts too: for labels with meaningful names or texts."""

    encoder: Pretrained = group(Pretrained, "what reads the texts")
    guides: GuideConfig = group(GuideConfig)


@dataclass(frozen=True, repr=False)
class Gudn(LightXML):
    """A finished encoder with its output layers, as in lightxml; the guides are gone."""

    config: Config
    kind: str = KIND
    mean_text: Floats = field(kw_only=True)  # (dim,) mean vector of training texts
    trained_labels: int = field(kw_only=True)  # the first labels; others were added later

    def texts_of(self, labels: LabelSpace) -> list[str]:
        """Label texts as they were read in training."""
        return _texts_of(labels, self.config.guides)

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, the encoder and its tokenizer included."""
        parts = super().to_parts()
        own = {
            "mean_text": self.mean_text,
            "trained_labels": np.array([self.trained_labels], np.int32),
        }
        return replace(parts, arrays={**parts.arrays, **own})

    @staticmethod
    def from_parts(parts: Parts) -> Gudn:
        """The model as it was saved, checked."""
        fields = lightxml.saved_fields(parts, parts.config(Config))
        mean_text = parts.array("mean_text", np.float32, (fields["encoder"].dim,))
        trained = int(parts.ids("trained_labels", len(parts.labels) + 1, 1)[0])
        return Gudn(**fields, mean_text=mean_text, trained_labels=max(1, trained))


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Gudn:
    """Cluster the labels where there are many, then train with texts and with label texts."""
    texts = _texts_of(dataset.labels, config.guides)
    _warn_of_codes(texts, dataset.labels, config.guides)
    with begin(KIND, dataset, config, run) as training:
        from xmtc.neural.training.prepared import fine_tune

        train = training.dataset
        tree = label_tree(train, config)
        pooler = config.guides.needs_pooler
        prepared = training.prepare(config.published.standardize, pooler, texts)
        encoder = prepared.encoder
        with training.rng.turn():
            head = output_layers(train, tree, encoder.dim, config)

        def ranker() -> LightXML:
            scorers = tuple(scorer.of_raw(prepared.standard) for scorer in head.scorers())
            trained_on = dataset.trained_on()
            return LightXML(config, encoder, tree, scorers, dataset.labels, trained_on)

        measure = training.measure([encoder], ranker)
        task = prepared.task(head, train.relevant, config.dropout, measure)
        if config.guides.any:
            task = _guided(task, prepared, texts, config.guides)
        fine_tune(prepared, task)
        trained = ranker()
    encoder.finish()
    sample = np.linspace(0, len(train) - 1, min(SAMPLE, len(train))).astype(int)
    mean_text = trained.encode([train.texts[row] for row in sample]).mean(0)
    fields = {**vars(trained), "kind": KIND}
    return Gudn(**fields, mean_text=mean_text, trained_labels=len(dataset.labels))


def with_labels(model: Gudn, labels: LabelSpace, vectors: Floats, trained_on: TrainedOn) -> Gudn:
    """The model with more labels. Texts and label texts share a space, so a vector is enough.

    labels: those of the model, then the new ones. vectors: (new labels, dim)
    """
    trained = model.trained_labels
    sample = np.linspace(0, trained - 1, min(SAMPLE, trained)).astype(int)
    texts = model.texts_of(model.labels)
    usual = model.encode([texts[label] for label in sample]).mean(0)
    *above, last = model.scorers
    last = with_nodes(last, trained, vectors, usual, model.mean_text)
    tree = LabelTree.flat(len(labels))
    if above:
        clusters = np.tile(np.arange(len(above[0].weights), dtype=np.int32), (len(vectors), 1))
        likeliest = above[0].score(vectors, clusters).argmax(1).astype(np.int32)
        parents = np.concatenate([model.tree.parents[-1], likeliest])
        tree = LabelTree((*model.tree.parents[:-1], parents))
    return replace(model, tree=tree, scorers=(*above, last), labels=labels, trained_on=trained_on)


def _guided(
    task: LabelTask, prepared: Prepared, texts: list[str], guides: GuideConfig
) -> LabelTask:
    from xmtc.neural.devices import device
    from xmtc.neural.training.guided_loss import guided
    from xmtc.neural.training.label_texts import (
        LabelReader,
        OneHot,
        OneHotReader,
        label_text_reader,
    )

    encoder = prepared.encoder
    reader: LabelReader
    if guides.published.labels_as == "one_hot":
        width = encoder.body.width if guides.needs_pooler else None
        with prepared.rng.turn():
            network = OneHot(len(texts), encoder.dim, width).to(device())
        reader = OneHotReader(network, task.relevant)
    else:
        cache = prepared.run.cache
        reader = label_text_reader(prepared.source, encoder, texts, task.relevant, guides, cache)
    return guided(task, reader, guides)


def _texts_of(labels: LabelSpace, guides: GuideConfig) -> list[str]:
    return label_texts(labels, guides.label_text, guides.published.underscores)


def _warn_of_codes(texts: list[str], labels: LabelSpace, guides: GuideConfig) -> None:
    if guides.any and guides.published.labels_as == "text" and are_codes(texts):
        examples = ", ".join(map(repr, labels.names[:3]))
        logging.getLogger("xmtc").warning(
            "gudn learns from label texts, and most of these look like codes: %s. Give the labels "
            "texts (docs/formats.md), or train lightxml. Training goes on.",
            examples,
        )
