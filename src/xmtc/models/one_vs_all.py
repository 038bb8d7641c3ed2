"""one_vs_all (DiSMEC): one sparse linear classifier per label, each trained on all texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Csr, Inputs
from xmtc.core.config import check_bounds, group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.interfaces import model_repr
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.linear.explain import Evidence, of_path
from xmtc.linear.forest import Forest, WeightType, flat_forest
from xmtc.linear.forest_store import forest_arrays, read_forest
from xmtc.linear.svm import SvmConfig, train_one_vs_all
from xmtc.planning.cost import Estimate, one_vs_all_costs
from xmtc.text.encoder import GivenFeatures, learn_encoder, load_encoder
from xmtc.text.tfidf import Tfidf, TfidfConfig

KIND = "one_vs_all"


@dataclass(frozen=True)
class Config:
    """Accurate and simple; training time grows with texts times labels, so best below 100,000."""

    text: TfidfConfig = group(TfidfConfig)
    svm: SvmConfig = group(SvmConfig)
    weight_type: WeightType = setting("int8", "type of the weights; int8 is a third of the size")
    seed: int = setting(0, "random seed of the solver", low=0)

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True, repr=False)
class OneVsAll:
    """A tree of depth 1: every label is scored for every text."""

    config: Config
    encoder: Tfidf | GivenFeatures
    forest: Forest
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    __repr__ = model_repr

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k labels whose classifiers say yes most clearly, by the logistic function."""
        return self.forest.rank(self.encoder.encode(inputs), k, score="label", allowed=allowed)

    def explain(self, text: str, label: int) -> list[Evidence]:
        """What spoke for and against a label: one piece of evidence, from its classifier."""
        return of_path(self.forest, self.encoder.encode([text]), label, self.encoder.term)

    def to_parts(self) -> Parts:
        """Everything needed to make this model again."""
        arrays = self.encoder.to_arrays("encoder") | forest_arrays(self.forest, "forest")
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> OneVsAll:
        """The model as it was saved, checked."""
        config = parts.config(Config)
        encoder = from_untrusted(lambda: load_encoder(parts, "encoder", config.text))
        count = len(parts.labels)
        features = encoder.feature_count
        forest = from_untrusted(lambda: read_forest(parts, "forest", 1, features, count))
        return OneVsAll(config, encoder, forest, parts.labels, parts.trained_on)


def train(
    dataset: Dataset,
    config: Config,
    run: Run = NO_RUN,
    encoded: tuple[Tfidf | GivenFeatures, Csr] | None = None,
) -> OneVsAll:
    """Encode the texts, then train every label against all the others.

    encoded: what `learn_encoder` returns for these texts and settings, where it is there already.
    """
    encoder, features = encoded or learn_encoder(dataset, config.text)
    weights, biases = train_one_vs_all(features, dataset.relevant, config.svm, config.seed)
    forest = flat_forest(weights, biases, config.weight_type)
    return OneVsAll(config, encoder, forest, dataset.labels, dataset.trained_on())


def costs(dataset: Dataset) -> Callable[[Config], Estimate]:
    """Settings -> what training with them costs."""
    return one_vs_all_costs(dataset)
