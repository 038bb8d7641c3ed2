"""What all neural kinds do in training. A kind adds its output layers and its own steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xmtc.core import config as settings
from xmtc.core.arrays import Csr
from xmtc.core.dataset import Dataset
from xmtc.core.interfaces import Model
from xmtc.core.run import Run, training_key
from xmtc.evaluation.report import evaluate_ranking
from xmtc.models.holdout import require_texts, split_validation
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import METRICS

if TYPE_CHECKING:
    from xmtc.neural.devices import Rng
    from xmtc.neural.encoders.text_encoder import TextEncoder
    from xmtc.neural.training.prepared import Prepared


@dataclass(frozen=True)
class NeuralTraining:
    """A training that has begun: its texts, its validation texts, its cache."""

    dataset: Dataset  # without the texts that are held out
    held_out: Dataset | None
    config: Any
    run: Run
    rng: Rng  # `with training.rng.turn():` where weights are initialized

    def prepare(
        self, standardize: bool = False, pooler: bool = False, label_texts: Sequence[str] = ()
    ) -> Prepared:
        """The encoder and its tokenized texts.

        pooler: with the encoder's own pooler, also where its vectors are made without it.
        label_texts: what the training reads in addition to the texts.
        """
        from xmtc.neural.training.prepared import prepare

        known = {**settings.to_dict(self.config), "label_texts": list(label_texts)}
        key = training_key(known, self.dataset)
        return prepare(
            self.dataset.texts,
            self.config.encoder,
            self.config.training,
            self.run,
            key,
            self.rng,
            corpus=self.dataset.fingerprint,
            standardize=standardize,
            pooler=pooler,
        )

    def measure(
        self,
        encoders: Sequence[TextEncoder],
        model: Callable[[], Model],
        truth: Callable[[Csr], Csr] | None = None,
    ) -> Callable[[], dict[str, float]]:
        """A function that measures the model as it is then on the validation texts.

        truth: what the model ranks, from the texts' labels; None: the labels themselves.
        """

        def metrics() -> dict[str, float]:
            if self.held_out is None:
                return {}
            for encoder in encoders:
                encoder.eval()
            relevant = self.held_out.relevant
            expected = relevant if truth is None else truth(relevant)
            ranking = model().rank(self.held_out.texts, 5)
            found = evaluate_ranking(ranking, expected).metrics
            return {name: found[name] for name in METRICS}

        return metrics


@contextmanager
def begin(kind: str, dataset: Dataset, config: Any, run: Run) -> Iterator[NeuralTraining]:
    """Checks, validation texts, seed and cache."""
    require_neural(kind)
    require_texts(dataset.inputs, kind)
    from xmtc.neural.devices import Rng

    train, held_out = split_validation(dataset, config.training)
    with run.with_cache() as cached:
        yield NeuralTraining(train, held_out, config, cached, Rng(config.training.seed))
