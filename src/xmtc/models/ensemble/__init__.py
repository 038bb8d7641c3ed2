"""ensemble: several trained models that answer as one.

Each member ranks its best labels (`depth`, 100 as published), and a label's scores are averaged or
otherwise combined. A label that a member knows but did not rank counts as much as the last one that
it did rank, which is its upper bound. The papers count 0, which punishes such labels where scores
do not fall to 0, as those of one_vs_all. Only members that know a label score it, so that combining
models of different label sets halves no score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Bools, Csr, Doubles, Inputs, Ints, count_of
from xmtc.core.config import changed, check_bounds, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import ConfigError, DataError, StoreError, require
from xmtc.core.interfaces import Model
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.provenance import provenance_from_dict
from xmtc.core.ranking import BLOCK, Ranking, rank_in_blocks
from xmtc.core.run import NO_RUN, Run
from xmtc.core.threads import blocks
from xmtc.evaluation.report import evaluate_ranking
from xmtc.linear.explain import Evidence
from xmtc.models import catalog, presets
from xmtc.models.ensemble.combine import How, LearnedWeights, Missing, best_weights, merge
from xmtc.models.ensemble.label_union import all_labels, ids_in, merged_training, renumbered
from xmtc.models.holdout import warn_without_validation
from xmtc.models.most_frequent import MostFrequent
from xmtc.planning.cost import Estimate, total
from xmtc.text.encoder import GivenFeatures

KIND = "ensemble"
MAX_NESTING = 4  # ensembles in ensembles


@dataclass(frozen=True)
class Config:
    """Several models that answer as one: usually better than the best of them."""

    members: tuple[str, ...] = setting(
        ("linear_tree", "one_vs_all"),
        "kinds or presets, each optionally with settings: 'linear_tree trees=3 beam=20'",
    )
    how: How = setting("average", "combination of scores; logit: mean of log odds")
    weights: tuple[float, ...] | None = setting(
        None, "coefficients of the members, summing to 1 (None: equal, or learned)"
    )
    depth: int = setting(100, "minimum labels that each member ranks", low=1, high=1 << 20)
    missing: Missing = setting(
        "floor", "score of labels a member did not rank: its lowest one; zero: as published"
    )
    validation: float | None = setting(
        None, "fraction of the texts held out to learn weights (None: equal)", above=0, below=1
    )
    metric: Literal["P@1", "P@3", "P@5", "R@5", "nDCG@5", "PSP@5"] = setting(
        "P@5", "metric that learned weights maximize"
    )

    def __post_init__(self) -> None:
        check_bounds(self)
        require(bool(self.members), "members", self.members, "name at least one kind or preset")
        for member in self.members:
            member_config(member)
        if self.weights is not None:
            sound = min(self.weights, default=-1) >= 0 and abs(sum(self.weights) - 1) < 1e-6
            expected = "must not be negative and must sum to 1, e.g. 0.7,0.3"
            require(sound, "weights", self.weights, expected)
            expected = "round_robin has no weights; drop them, or set another how"
            require(self.how != "round_robin", "weights", self.weights, expected)
        if self.validation is not None:
            expected = "round_robin has no weights to learn; drop it, or set another how"
            require(self.how != "round_robin", "validation", self.validation, expected)
            expected = "weights are given or learned, not both: drop one of the two"
            require(self.weights is None, "validation", self.validation, expected)

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of scores that a combination of ranks does not have."""
        if self.how in ("rank_average", "round_robin"):
            yield from ((name, f"how={self.how} reads ranks") for name in changed(self, "missing"))


def member_config(member: str) -> tuple[str, Any]:
    """ "linear_tree beam=20" or "lightxml-eurlex4k training.epochs=3" -> the kind, its Config."""
    kind, values = presets.kind_and_settings(member)
    if kind not in catalog.KINDS:
        known = f"Kinds: {', '.join(catalog.KINDS)}. `xmtc presets` lists the presets."
        raise ConfigError(f"no kind or preset {kind!r}. {known}")
    return kind, settings.from_dict(catalog.module_of(kind).Config, values)


@dataclass(frozen=True, repr=False)
class Ensemble:
    """Its labels are the union of all members' labels, by name."""

    config: Config
    members: tuple[Model, ...]
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.members))})"

    @cached_property
    def ids(self) -> tuple[Ints, ...]:
        """For each member, (its labels,) their ids here."""
        return tuple(ids_in(self.labels, member.labels) for member in self.members)

    @property
    def weights(self) -> Doubles:
        """(members,) that sum to 1."""
        equal = (1 / len(self.members),) * len(self.members)
        return np.array(self.config.weights or equal, np.float64)

    @cached_property
    def known(self) -> Bools | None:
        """(members, labels) True where a member knows a label; None if all know all."""
        if all(len(ids) == len(self.labels) for ids in self.ids):
            return None
        known = np.zeros((len(self.members), len(self.labels)), bool)
        for row, ids in zip(known, self.ids, strict=True):
            row[ids] = True
        return known

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels by the combined scores."""
        parts = [
            self.merged(self.rankings(inputs[start:stop], k, allowed), k)
            for start, stop in blocks(count_of(inputs), BLOCK)
        ]
        return Ranking.stack(parts) if parts else Ranking.empty(0, k)

    def rankings(self, inputs: Inputs, k: int, allowed: Allowed = None) -> list[Ranking]:
        """One ranking per member, in the ensemble's label ids and equally long."""
        return [self.rank_of(place, inputs, k, allowed) for place in range(len(self.members))]

    def rank_of(self, place: int, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The ranking of one member, in the ensemble's ids."""
        member = self.members[place]
        ids = self.ids[place]
        length = min(len(self.labels), max(k, self.config.depth))
        try:
            ranking = member.rank(inputs, length, None if allowed is None else allowed[ids])
        except DataError as error:
            raise DataError(f"the ensemble's {member.kind}: {error}") from error
        return renumbered(ranking, ids)

    def merged(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """The members' rankings as one."""
        config = self.config
        return merge(rankings, k, config.how, self.weights, config.missing, self.known)

    def explain(self, text: str, label: int) -> list[Evidence]:
        """Evidence for and against a label, by the first member that can explain it."""
        for place, (member, ids) in enumerate(zip(self.members, self.ids, strict=True), 1):
            known = np.flatnonzero(ids == label)
            if hasattr(member, "explain") and len(known):
                by = f"{member.kind}, member {place} of {len(self.members)}"
                return [
                    replace(evidence, by=f"{by}: {evidence.by}" if evidence.by else by)
                    for evidence in member.explain(text, int(known[0]))
                ]
        raise ConfigError(
            f"no member of this ensemble ({_kinds(self.members)}) can explain "
            f"{self.labels.names[label]!r}. Kinds with explanations: {catalog.explaining()}."
        )

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, its members inside."""
        arrays: dict[str, Array] = {}
        described: dict[str, Any] = {}
        for place, (member, ids) in enumerate(zip(self.members, self.ids, strict=True)):
            inner = member.to_parts()
            trained_on = member.trained_on
            arrays |= {f"member{place}/{name}": array for name, array in inner.arrays.items()}
            arrays |= {f"labels{place}": ids, f"counts{place}": trained_on.label_counts}
            described[str(place)] = {
                "kind": member.kind,
                "texts": trained_on.texts,
                "sources": [asdict(source) for source in trained_on.sources],
                "settings": inner.settings,
            }
        values = {**settings.to_dict(self.config), "trained": described}
        return Parts(values, self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> Ensemble:
        """The model as it was saved, checked."""
        rest = dict(parts.settings)
        described = rest.pop("trained", None)
        if not isinstance(described, dict) or not described:
            raise StoreError("the ensemble's settings do not describe its members.")
        members = tuple(
            _saved_member(parts, place, described.get(str(place)))
            for place in range(len(described))
        )
        config = replace(parts, settings=rest).config(Config)
        from_untrusted(lambda: _check_members(members, config))
        return Ensemble(config, members, parts.labels, parts.trained_on)


def of(members: Iterable[Model], config: Config | None = None) -> Ensemble:
    """The models as one: `of([a, b], Config(how="rank_average"))`."""
    members = tuple(members)
    config = config or Config()
    _check_members(members, config)
    labels = all_labels(members)
    config = replace(config, members=tuple(member.kind for member in members), validation=None)
    return Ensemble(config, members, labels, merged_training(members, labels))


def learned(
    members: Iterable[Model], validation: Dataset, config: Config | None = None
) -> Ensemble:
    """The models as one, with the weights that rank the validation set best.

    No member may be trained on it. By `config.metric` on it the result is never worse than the
    plain average, nor than any member alone. Members with weight 0 are left out.
    """
    members = tuple(members)
    config = config or Config()
    return weighted(members, learn_weights(members, validation, config).weights, config)


def weighted(members: Sequence[Model], weights: Sequence[float], config: Config) -> Ensemble:
    """The models as one, with these weights; members with weight 0 are left out."""
    used = [member for member, weight in zip(members, weights, strict=True) if weight]
    equal = len(set(weights)) == 1 or len(used) == 1
    values = None if equal else tuple(weight for weight in weights if weight)
    return of(used, replace(config, weights=values, validation=None))


def learn_weights(members: Sequence[Model], validation: Dataset, config: Config) -> LearnedWeights:
    """Equal weights, unless others rank the validation set better."""
    expected = "are learned from the validation set; drop one of the two"
    require(config.weights is None, "weights", config.weights, expected)
    plain = of(members, config)
    truth = validation.named_in(plain.labels)
    k = int(config.metric.partition("@")[2])
    rankings = [
        rank_in_blocks(partial(plain.rank_of, place), truth.inputs, k, f"ranking with {each.kind}")
        for place, each in enumerate(plain.members)
    ]
    return weights_for(rankings, truth.relevant, plain.trained_on, config, plain.known)


def weights_for(
    rankings: Sequence[Ranking],
    relevant: Csr,
    trained_on: TrainedOn,
    config: Config,
    known: Bools | None = None,
) -> LearnedWeights:
    """The same, of members whose rankings of the validation set are there."""
    require(config.how != "round_robin", "how", config.how, "has no weights that could be learned")
    if not relevant.nnz:
        raise DataError("no text of the validation set has a label; weights cannot be learned.")
    k = int(config.metric.partition("@")[2])

    def figure(weights: Doubles) -> float:
        ranking = merge(rankings, k, config.how, weights, config.missing, known)
        report = evaluate_ranking(ranking, relevant, trained_on, ks=(k,))
        return report.metrics[config.metric]

    return best_weights(figure, len(rankings))


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Ensemble:
    """Train each member with its settings, then combine them."""
    count = len(config.members)
    fits = config.weights is None or len(config.weights) == count
    require(fits, "weights", config.weights, f"expected one for each of the {count} members")
    held_out = None
    if dataset.validation is not None and config.how != "round_robin" and config.weights is None:
        held_out = dataset.validation
    elif config.validation is not None and len(dataset) > 1:
        dataset, held_out = dataset.split(config.validation)
    else:
        for name in changed(config, "metric"):
            warn_without_validation(name)
    members = []
    for place, member in enumerate(config.members):
        kind, settings_of_member = member_config(member)
        train_member = catalog.module_of(kind).train
        members.append(train_member(dataset, settings_of_member, run.below(f"member{place}")))
    if held_out is None or not held_out.relevant.nnz:
        return of(members, config)
    return learned(members, held_out, replace(config, validation=None))


def costs(dataset: Dataset) -> Callable[[Config], Estimate]:
    """Settings -> what training with them costs: one member after the other, all in memory."""

    def estimate(config: Config) -> Estimate:
        members = map(member_config, config.members)
        each = [catalog.costs_of(kind, dataset)(settings_of) for kind, settings_of in members]
        size = sum(cost.model_bytes for cost in each)
        growth = size + max(cost.growth for cost in each)
        return Estimate(total(*(cost.spent for cost in each)), growth, size)

    return estimate


def _check_members(members: tuple[Model, ...], config: Config) -> None:
    if not members:
        raise ConfigError("an ensemble needs at least one trained model.")
    for member in members:
        if not isinstance(member, Model):
            raise ConfigError(f"an ensemble takes trained models, not a {type(member).__name__}.")
    fits = config.weights is None or len(config.weights) == len(members)
    expected = f"expected one for each of the {len(members)} models"
    require(fits, "weights", config.weights, expected)
    if len(set().union(*map(_input_types, members))) > 1:
        raise ConfigError(
            f"of these models ({_kinds(members)}) one was trained on texts and another on a "
            "feature matrix; no input suits both. Combine models with the same input."
        )
    if max(map(_nesting, members)) >= MAX_NESTING:
        raise ConfigError(
            f"ensembles can be nested at most {MAX_NESTING} deep. Combine the models directly."
        )


def _input_types(model: Model) -> set[str]:
    """Texts or features, by what it was trained on; empty for a model that reads anything."""
    if isinstance(model, Ensemble):
        return set().union(*map(_input_types, model.members))
    if isinstance(model, MostFrequent):
        return set()
    given = isinstance(getattr(model, "encoder", None), GivenFeatures)
    return {"features" if given else "texts"}


def _nesting(model: Model) -> int:
    return 1 + max(map(_nesting, model.members)) if isinstance(model, Ensemble) else 0


def _kinds(members: Sequence[Model]) -> str:
    return ", ".join(member.kind for member in members)


def _saved_member(parts: Parts, place: int, described: Any) -> Model:
    wanted = {"kind": str, "texts": int, "sources": list, "settings": dict}
    sound = isinstance(described, dict) and all(
        type(described.get(name)) is kind for name, kind in wanted.items()
    )
    if not sound or described["kind"] not in catalog.KINDS:
        raise StoreError(f"member {place} of the ensemble has no kind that this xmtc knows.")
    ids = parts.ids(f"labels{place}", len(parts.labels))
    counts = parts.array(f"counts{place}", np.int64, (len(ids),))
    if len(counts) and not 0 <= counts.min() <= counts.max() <= described["texts"]:
        raise StoreError(f"member {place} of the ensemble: the label counts do not fit.")
    prefix = f"member{place}/"
    arrays = {
        name.removeprefix(prefix): array
        for name, array in parts.arrays.items()
        if name.startswith(prefix)
    }
    labels = parts.labels
    if not np.array_equal(ids, np.arange(len(labels))):
        names = tuple(labels.names[label] for label in ids)
        texts = None if labels.texts is None else tuple(labels.texts[label] for label in ids)
        labels = from_untrusted(lambda: LabelSpace(names, texts))
    sources = from_untrusted(lambda: tuple(map(provenance_from_dict, described["sources"])))
    trained_on = TrainedOn(described["texts"], counts, sources)
    inner = Parts(described["settings"], labels, trained_on, arrays)
    member: Model = catalog.class_of(described["kind"]).from_parts(inner)
    return member
