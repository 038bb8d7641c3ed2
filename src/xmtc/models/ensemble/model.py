"""ensemble: several trained models that answer as one.

Each member ranks its best labels (`depth`, 100 as published), and a label's scores are averaged or
otherwise combined. A label that a member knows but did not rank counts there as much as the last
that it did rank, which is the most it can be. The papers count 0, which punishes such a label where
scores do not fall to 0, as those of one_vs_all. A label that a member was never taught is none of
its business: only the members that know it are asked, so that joining models of different label
sets halves no score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Bools, Doubles, Inputs, Ints, count_of
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
from xmtc.models import catalog
from xmtc.models.ensemble.combine import How, Learned, Missing, combined, searched
from xmtc.models.ensemble.label_union import all_labels, ids_in, renumbered, seen_by
from xmtc.models.most_frequent import MostFrequent
from xmtc.text.encoder import GivenFeatures

KIND = "ensemble"
DEEPEST = 4  # ensembles in ensembles


@dataclass(frozen=True)
class Config:
    """Several models that answer as one: usually better than the best of them."""

    how: How = "average"  # of scores; logit: of log odds, where scores are like probabilities
    weights: tuple[float, ...] = ()  # of the members, 1 in all; none: each the same
    depth: int = 100  # labels that each member ranks, at least
    missing: Missing = "floor"  # what others count: the last one's score; zero: as published
    kinds: tuple[str, ...] = (
        "linear_tree",
        "one_vs_all",
    )  # of the members; `train` trains one each
    validation: float = 0.0  # share of the texts that `train` learns weights on; 0: none
    metric: Literal["P@1", "P@3", "P@5", "R@5", "nDCG@5", "PSP@5"] = "P@5"  # of learned weights

    def __post_init__(self) -> None:
        require(1 <= self.depth <= 1 << 20, "depth", self.depth, "must lie between 1 and a million")
        require(0 <= self.validation < 1, "validation", self.validation, "from 0 to below 1")
        sound = all(weight >= 0 for weight in self.weights) and abs(sum(self.weights) - 1) < 1e-6
        require(
            not self.weights or sound,
            "weights",
            self.weights,
            "must not be negative, and must be 1 in all, e.g. 0.7,0.3",
        )
        require(
            self.how != "round_robin" or not self.weights,
            "weights",
            self.weights,
            "round_robin takes turns and has no weights; choose another how",
        )
        require(
            not (self.validation and self.how == "round_robin"),
            "validation",
            self.validation,
            "round_robin takes turns and learns no weights; choose another how",
        )
        require(
            not (self.validation and self.weights),
            "validation",
            self.validation,
            "weights are given or learned, not both: leave one of the two out",
        )
        require(
            bool(self.kinds) and set(self.kinds) <= set(catalog.KINDS),
            "kinds",
            self.kinds,
            f"name one or more of {', '.join(catalog.KINDS)}",
        )


@dataclass(frozen=True, repr=False)
class Ensemble:
    """Its labels are those of all members together, by name."""

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
        """(members,) 1 in all."""
        given = self.config.weights or (1 / len(self.members),) * len(self.members)
        return np.array(given, np.float64)

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
        """The k labels that the members together like best."""
        parts = [
            self.joined(self.rankings(inputs[start:stop], k, allowed), k, self.weights)
            for start, stop in blocks(count_of(inputs), BLOCK)
        ]
        return Ranking.stack(parts) if parts else Ranking.empty(0, k)

    def rankings(self, inputs: Inputs, k: int, allowed: Allowed = None) -> list[Ranking]:
        """The ranking of each member, in the ensemble's ids and equally long."""
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

    def joined(self, rankings: Sequence[Ranking], k: int, weights: Doubles) -> Ranking:
        """The members' rankings as one."""
        how = self.config.how
        missing = self.config.missing
        return combined(rankings, k, how, weights, missing, self.known)

    def explain(self, text: str, label: int) -> list[Evidence]:
        """What spoke for and against a label: the view of the first member that can say why."""
        for place, (member, ids) in enumerate(zip(self.members, self.ids, strict=True), 1):
            known = np.flatnonzero(ids == label)
            if hasattr(member, "explain") and len(known):
                by = f"{member.kind}, member {place} of {len(self.members)}"
                return [
                    replace(evidence, by=f"{by}: {evidence.by}" if evidence.by else by)
                    for evidence in member.explain(text, int(known[0]))
                ]
        raise ConfigError(
            f"no member of this ensemble can say why {self.labels.names[label]!r} was ranked "
            f"({_kinds(self.members)}); these can: {catalog.explaining()}."
        )

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, its members inside."""
        arrays: dict[str, Array] = {}
        described: dict[str, Any] = {}
        for place, (member, ids) in enumerate(zip(self.members, self.ids, strict=True)):
            inner = member.to_parts()
            seen = member.trained_on
            arrays |= {f"member{place}/{name}": array for name, array in inner.arrays.items()}
            arrays |= {f"labels{place}": ids, f"counts{place}": seen.label_counts}
            described[str(place)] = {
                "kind": member.kind,
                "texts": seen.texts,
                "sources": [asdict(source) for source in seen.sources],
                "settings": inner.settings,
            }
        values = {**settings.to_dict(self.config), "members": described}
        return Parts(values, self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> Ensemble:
        """The model as it was saved, checked."""
        rest = dict(parts.settings)
        described = rest.pop("members", None)
        if not isinstance(described, dict) or not described:
            raise StoreError("the ensemble does not say what its members are.")
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
    config = replace(config, kinds=tuple(member.kind for member in members))
    return Ensemble(config, members, labels, seen_by(members, labels))


def learned(
    members: Iterable[Model], validation: Dataset, config: Config | None = None
) -> Ensemble:
    """The models as one, with the weights that rank these labelled texts best.

    They must be texts that no member was trained on. By `config.metric` on them the result is never
    worse than the plain average, nor than any member alone. Members of no weight are left out.
    """
    members = tuple(members)
    config = config or Config()
    return weighted(members, learn_weights(members, validation, config).weights, config)


def weighted(members: Sequence[Model], weights: Sequence[float], config: Config) -> Ensemble:
    """The models as one, with these weights; members of no weight are left out."""
    kept = [member for member, weight in zip(members, weights, strict=True) if weight]
    alike = len(set(weights)) == 1 or len(kept) == 1
    values = () if alike else tuple(weight for weight in weights if weight)
    return of(kept, replace(config, weights=values))


def learn_weights(members: Sequence[Model], validation: Dataset, config: Config) -> Learned:
    """Equal weights, unless others rank the validation texts better."""
    require(config.how != "round_robin", "how", config.how, "has no weights that could be learned")
    require(
        not config.weights,
        "weights",
        config.weights,
        "are learned from the validation texts; give one or the other",
    )
    plain = of(members, config)
    truth = validation.named_in(plain.labels)
    if not truth.relevant.nnz:
        raise DataError("no text of the validation data has a label; weights cannot be learned.")
    k = int(config.metric.partition("@")[2])
    ranked = [
        rank_in_blocks(partial(plain.rank_of, place), truth.inputs, k, f"ranking with {each.kind}")
        for place, each in enumerate(members)
    ]

    def figure(weights: Doubles) -> float:
        ranking = plain.joined(ranked, k, weights)
        report = evaluate_ranking(ranking, truth.relevant, plain.trained_on, ks=(k,))
        return report.metrics[config.metric]

    return searched(figure, len(plain.members))


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Ensemble:
    """Train one member of each kind with its default settings, then combine them."""
    held_out = None
    require(
        len(config.weights) in (0, len(config.kinds)),
        "weights",
        config.weights,
        f"must be as many as kinds, {len(config.kinds)}",
    )
    if dataset.validation is not None and config.how != "round_robin" and not config.weights:
        held_out = dataset.validation
    elif config.validation and len(dataset) > 1:
        dataset, held_out = dataset.split(config.validation)
    members = []
    for place, kind in enumerate(config.kinds):
        module = catalog.module_of(kind)
        members.append(module.train(dataset, module.Config(), run.below(f"member{place}")))
    if held_out is None or not held_out.relevant.nnz:
        return of(members, config)
    return learned(members, held_out, config)


def _check_members(members: tuple[Model, ...], config: Config) -> None:
    if not members:
        raise ConfigError("an ensemble needs at least one trained model.")
    for member in members:
        if not isinstance(member, Model):
            raise ConfigError(f"an ensemble takes trained models, not a {type(member).__name__}.")
    require(
        len(config.weights) in (0, len(members)),
        "weights",
        config.weights,
        f"give one for each of the {len(members)} models",
    )
    if len(set().union(*map(_reads, members))) > 1:
        raise ConfigError(
            f"of these models ({_kinds(members)}) one was trained on texts and another on a "
            "feature matrix; there is nothing that both can read. Combine models of one sort."
        )
    if max(map(_levels, members)) >= DEEPEST:
        raise ConfigError(f"ensembles in ensembles go {DEEPEST} deep at most. Combine the models.")


def _reads(model: Model) -> set[str]:
    """What it was trained on; nothing of a model that reads anything."""
    if isinstance(model, Ensemble):
        return set().union(*map(_reads, model.members))
    if isinstance(model, MostFrequent):
        return set()
    given = isinstance(getattr(model, "encoder", None), GivenFeatures)
    return {"features" if given else "texts"}


def _levels(model: Model) -> int:
    return 1 + max(map(_levels, model.members)) if isinstance(model, Ensemble) else 0


def _kinds(members: Sequence[Model]) -> str:
    return ", ".join(member.kind for member in members)


def _saved_member(parts: Parts, place: int, described: Any) -> Model:
    wanted = {"kind": str, "texts": int, "sources": list, "settings": dict}
    sound = isinstance(described, dict) and all(
        type(described.get(name)) is kind for name, kind in wanted.items()
    )
    if not sound or described["kind"] not in catalog.KINDS:
        raise StoreError(f"member {place} of the ensemble is of no kind that this xmtc knows.")
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
    sources = from_untrusted(lambda: tuple(map(provenance_from_dict, described["sources"])))
    seen = TrainedOn(described["texts"], counts, sources)
    inner = Parts(described["settings"], _labels_at(parts.labels, ids), seen, arrays)
    member: Model = catalog.class_of(described["kind"]).from_parts(inner)
    return member


def _labels_at(labels: LabelSpace, ids: Ints) -> LabelSpace:
    if np.array_equal(ids, np.arange(len(labels))):
        return labels
    texts = None if labels.texts is None else tuple(labels.texts[label] for label in ids)
    return from_untrusted(lambda: LabelSpace(tuple(labels.names[label] for label in ids), texts))
