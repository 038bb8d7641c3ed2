"""auto: linear models first, then neural ones as far as the time allows; returns the best.

All are compared on texts that none of them was trained on. The result is never worse there than
linear_tree. It is an ordinary model of its own kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Csr, Floats, Longs
from xmtc.core.config import check_bounds, setting
from xmtc.core.dataset import Dataset
from xmtc.core.errors import ConfigError, MissingExtra, StoreError, XmtcError, memory_errors
from xmtc.core.interfaces import Model
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.evaluation.report import evaluate_ranking
from xmtc.models import ensemble, lightxml, linear_tree, one_vs_all, presets, xr_transformer
from xmtc.models.auto.probes import learning_speed, reading_speed, truncated, with_epochs
from xmtc.models.auto.state import SavedSearch
from xmtc.models.auto.tried import Outcome, Trial
from xmtc.models.ensemble.combine import merge
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import METRICS, Metric
from xmtc.planning.cost import one_vs_all_costs, timed
from xmtc.text import tfidf
from xmtc.text.tfidf import Tfidf, TfidfConfig

if TYPE_CHECKING:
    from xmtc.neural.encoders.text_encoder import TextEncoder

KIND = "auto"
MODULES: dict[str, Any] = {
    module.KIND: module for module in (linear_tree, one_vs_all, xr_transformer, lightxml)
}
TREE = "linear_tree"
TREES = "three linear trees"
ONE_VS_ALL = "one_vs_all"
FROZEN = "xr_transformer"  # its encoder stays as it is
COMBINED = "combination"
LINEAR: dict[str, Any] = {TREE: linear_tree, TREES: linear_tree, ONE_VS_ALL: one_vs_all}
# Kinds that fine-tune an encoder, the most promising first; the next one gets the remaining time.
FINE_TUNED: dict[str, Any] = {"fine-tuned xr_transformer": xr_transformer, "lightxml": lightxml}

N_TREES = 3  # where there is time for several
SPARE = 0.95  # fraction of the time that is planned for
LINEAR_SHARE = 0.1  # of the remaining time, for several trees, and for one_vs_all
READING_SHARE = 0.35  # of the remaining time, for reading; texts are truncated until it suffices
PROBE_SHARE = 0.1  # of the remaining time, for measuring the speed of learning
SMALL = 1_000_000  # texts times labels up to which one_vs_all needs no estimate
DENSE_FACTOR = 5  # time of a tree over words and vectors, relative to linear_tree
VECTOR_WORDS = 200  # words that cost a classifier as much time as a vector
READING_TEXTS = 128  # sample that measures the speed of reading
LEARNING_TEXTS = 256  # sample that measures the speed of fine-tuning
MIN_TOKENS = 32  # texts are not truncated further
MIN_TEXTS = 16  # smallest sample that can measure the speed of fine-tuning
NO_TEXTS = "linear_tree alone: the data has features and no texts, which other kinds need"
TOO_FEW = "linear_tree alone: there are too few texts with labels to compare models"


@dataclass(frozen=True)
class Config:
    """Tries linear models, then neural ones as time allows, and returns the best."""

    minutes: float = setting(
        30.0, "approximate time limit of the whole search", above=0, below=math.inf
    )
    metric: Metric = setting("P@5", "metric of the best model")
    validation: float = setting(
        0.1, "fraction of the texts held out to compare models", above=0, below=1
    )
    max_validation_texts: int = setting(2000, "maximum held-out texts", low=1)
    max_epochs: int = setting(6, "maximum epochs for models that fine-tune their encoder", low=1)
    seed: int = setting(0, "random seed of the split and of samples", low=0)
    overrides: tuple[str, ...] = setting(
        (), "settings of the kinds it tries, e.g. 'lightxml encoder.name=roberta-base'"
    )

    def __post_init__(self) -> None:
        check_bounds(self)
        self.kinds  # noqa: B018  (read now, so that a wrong setting is found now)

    @cached_property
    def kinds(self) -> Mapping[str, Any]:
        """The Config of each kind that is tried."""
        values: dict[str, dict[str, Any]] = {kind: {} for kind in MODULES}
        for entry in self.overrides:
            kind, changes = presets.kind_and_settings(entry)
            if kind not in values:
                raise ConfigError(f"auto does not try {kind!r}. Available: {', '.join(values)}")
            values[kind] = settings.merged(values[kind], changes)
        return {kind: settings.from_dict(MODULES[kind].Config, values[kind]) for kind in MODULES}


class HeldOutSplit(NamedTuple):
    """The rows that all compared models are trained on, and the texts that they are compared on."""

    rows: Longs
    held_out: Dataset


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Model:
    """The best model that the time allows. The run's folder gets a tried.json with all trials."""
    return choose(dataset, config, run).model


def choose(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Outcome:
    """The same, with what was tried and why the best was selected."""
    few = dataset.validation is None and len(dataset) <= 2 * MIN_TEXTS
    split = split_of(dataset, config) if dataset.texts and not few else None
    if split is not None:
        labels = dataset.relevant[split.rows].nnz and split.held_out.relevant.nnz
        few = not labels or len(split.rows) < MIN_TEXTS
    if split is None or few:
        model, spent = timed(lambda: linear_tree.train(dataset, config.kinds[TREE]))
        alone = Trial(TREE, spent.seconds / 60, {})
        outcome = Outcome(model, (alone,), TREE, TOO_FEW if dataset.texts else NO_TEXTS)
    else:
        with run.with_cache() as cached:
            outcome = ModelSearch(dataset, split, config, cached).outcome()
    outcome.write(run.folder)
    return outcome


def split_of(dataset: Dataset, config: Config) -> HeldOutSplit:
    """Some texts are held out, unless validation data was given."""
    given = dataset.validation
    if given is None:
        share = min(config.validation, config.max_validation_texts / len(dataset))
        rows, drawn = dataset.split_rows(share, config.seed)
        return HeldOutSplit(rows, dataset.take(drawn))
    if len(given) > config.max_validation_texts:
        given = given.split(config.max_validation_texts / len(given), config.seed)[1]
    return HeldOutSplit(np.arange(len(dataset)), given)


class SharedFeatures:
    """TF-IDF of one data set at a time, learned once for all models with the same text settings."""

    def __init__(self) -> None:
        self.texts: object = None
        self.known: dict[TfidfConfig, tuple[Tfidf, Csr]] = {}

    def of(self, dataset: Dataset, config: TfidfConfig) -> tuple[Tfidf, Csr]:
        """The vocabulary of the texts, and the texts encoded."""
        if self.texts is not dataset.texts:
            self.texts = dataset.texts
            self.known = {}
        if config not in self.known:
            self.known[config] = tfidf.learn(dataset.texts, config)
        return self.known[config]


class ModelSearch:
    """One model after the other, each trained on all but the held-out texts.

    Finished models are saved in the run's folder: a search that was killed goes on after them.
    """

    def __init__(self, dataset: Dataset, split: HeldOutSplit, config: Config, run: Run) -> None:
        self.dataset = replace(dataset, validation=None)
        self.rows, self.held_out = split
        self.train_set = self.dataset.take(self.rows)
        self.refits = dataset.validation is None  # linear parts, on the held-out texts too
        self.config = config
        self.run = run
        self.saved = SavedSearch(training_key(settings.to_dict(config), dataset), run)
        self.state = self.saved.state
        self.features = SharedFeatures()
        self.models: dict[str, Model] = {}
        self.rankings: dict[str, Ranking] = {}  # of the held-out texts, by each model
        self.tried: list[Trial] = []

    def outcome(self) -> Outcome:
        """Everything that fits, compared; the best, its linear parts trained on all texts."""
        tree = self.config.kinds[TREE]
        self._try(TREE, partial(self._linear, TREE, self.train_set))
        if tree.trees < N_TREES and not tree.parents:
            seconds = self._trainings * N_TREES / tree.trees * self._tree_seconds
            self._attempt(TREES, partial(self._try_linear, TREES, lambda: seconds))
        self._attempt(ONE_VS_ALL, partial(self._try_linear, ONE_VS_ALL, self._one_vs_all_seconds))
        self._try_neural()
        weights = self._combine() if len(self._combinable) > 1 else {}
        best = max(self.tried, key=self._figure)  # of equals the first, which is the simplest
        used = [name for name in weights if weights[name]] if best.name == COMBINED else [best.name]
        refitted = [name for name in used if name not in FINE_TUNED and self.refits]
        why = f"{TREE} is selected: none of the others has a higher {self.config.metric}"
        if best.name != TREE:
            ahead = self._figure(best) - self._figure(self.tried[0])
            why = f"Selected: {best.name}. In {self.config.metric}, {ahead:.2f} points above {TREE}"
        why += f" on {len(self.held_out):,} texts that no model was trained on."
        if refitted:
            why += f" After that, {' and '.join(refitted)} were trained on them too; the figures "
            why += "are from before."
        if best.name == COMBINED:
            members = [
                self._refitted(name) if weights[name] else self.models[name] for name in weights
            ]
            model: Model = ensemble.weighted(members, tuple(weights.values()), self._combination)
        else:
            model = self._refitted(best.name)
        return Outcome(model, tuple(self.tried), best.name, why)

    # What is tried

    def _try_neural(self) -> None:
        try:
            require_neural("a neural model")
        except MissingExtra as missing:
            self.tried.append(Trial(FROZEN, 0.0, {}, f"not tried: {missing}"))
            return
        if self._attempt(FROZEN, self._try_frozen):
            for name in FINE_TUNED:
                self._attempt(name, partial(self._try_fine_tuned, name))

    def _attempt(self, name: str, attempt: Callable[[], bool]) -> bool:
        """Whether an attempt came to an end. One that fails does not stop the others."""
        try:
            with memory_errors():
                return attempt()
        except (XmtcError, MemoryError, OSError) as problem:
            self.tried.append(Trial(name, 0.0, {}, f"failed: {problem or type(problem).__name__}"))
            return False

    def _try_linear(self, name: str, seconds: Callable[[], float]) -> bool:
        fits = self._fits(name, seconds, LINEAR_SHARE)
        if fits:
            self._try(name, partial(self._linear, name, self.train_set))
        return fits

    def _try_frozen(self) -> bool:
        fits = self._fits(FROZEN, self._seconds_to_read)
        if fits:
            self._try(FROZEN, self._frozen, self._truncation)
        return fits

    def _try_fine_tuned(self, name: str) -> bool:
        candidate = self.state.of(name)
        if candidate.epochs is None:
            candidate.epochs = self._epochs(name)
            self.saved.save()
        if candidate.epochs:
            self._try(name, partial(self._fine_tuned, name, candidate.epochs), self._truncation)
        else:
            self.tried.append(Trial(name, 0.0, {}, candidate.why_not))
        return candidate.epochs > 0

    def _try(self, name: str, make: Callable[[], Model], note: str = "") -> None:
        model, seconds = self.saved.trained(name, make)
        depth = min(len(model.labels), self._combination.depth)
        ranking = model.rank(self.held_out.texts, depth)
        self.tried.append(Trial(name, seconds / 60, self._figures(ranking), note))
        self.models[name] = model
        self.rankings[name] = ranking

    def _linear(self, name: str, texts: Dataset) -> Model:
        config = self.config.kinds[LINEAR[name].KIND]
        if name == TREES:
            config = replace(config, trees=N_TREES)
        encoded = self.features.of(texts, config.text)
        model: Model = LINEAR[name].train(texts, config, encoded=encoded)
        return model

    def _frozen(self) -> Model:
        encoder, vectors = self._read
        return self._over_vectors(self.train_set, encoder, vectors[self.rows])

    def _over_vectors(self, texts: Dataset, encoder: TextEncoder, vectors: Floats) -> Model:
        config = self._reader
        encoded = self.features.of(texts, config.any_ranker.text)
        return xr_transformer.of_vectors(texts, encoder, vectors, config, encoded)

    def _fine_tuned(self, name: str, epochs: int) -> Model:
        module = FINE_TUNED[name]
        config = with_epochs(truncated(self.config.kinds[module.KIND], self._max_tokens), epochs)
        shared = {}
        if module is xr_transformer:
            text = config.any_ranker.text
            shared = {"encoded": self.features.of(self.train_set, text)}
        run = self.run.below(module.KIND)
        model: Model = module.train(self.train_set, config, run, **shared)
        return model

    @cached_property
    def _read(self) -> tuple[TextEncoder, Floats]:
        """The encoder and its vectors of all texts, read once for all neural models."""
        from xmtc.neural.devices import Rng

        given = (self.dataset, self._reader, self.run.cache)
        try:
            return xr_transformer.read(*given, Rng(self.config.seed), True)
        except StoreError:  # no room for what fine-tuning would need
            return xr_transformer.read(*given, Rng(self.config.seed))

    @property
    def _reader(self) -> xr_transformer.Config:
        """Settings of xr_transformer without fine-tuning."""
        config = truncated(self.config.kinds[FROZEN], self._max_tokens)
        return with_epochs(config, 0)  # type: ignore[no-any-return]

    # What there is time for

    def _fits(self, name: str, needed: Callable[[], float], share: float = 1.0) -> bool:
        """Whether this fraction of the time is enough for it; decided once."""
        candidate = self.state.of(name)
        if candidate.fits is None:
            candidate.fits = self._has_time(name, needed(), share)
            self.saved.save()
        if not candidate.fits:
            self.tried.append(Trial(name, 0.0, {}, candidate.why_not))
        return candidate.fits

    def _has_time(self, name: str, needed: float, share: float = 1.0) -> bool:
        left = max(0.0, share * self._seconds_left())
        about = f"needs about {needed / 60:.1f} min, {left / 60:.1f} are left for it"
        self.state.of(name).why_not = f"not tried: {about}"
        return needed < left

    def _seconds_left(self) -> float:
        """Without the time to train linear models on all texts in the end."""
        linear = 60 * sum(each.minutes for each in self.tried if each.name in LINEAR)
        again = (self._trainings - 1) * linear
        return self.config.minutes * 60 * SPARE - self.saved.seconds() - again

    @property
    def _trainings(self) -> int:
        """Of linear models: one to compare them, and one on all texts in the end."""
        return 2 if self.refits else 1

    @property
    def _tree_seconds(self) -> float:
        return 60 * next(each.minutes for each in self.tried if each.name == TREE)

    def _one_vs_all_seconds(self) -> float:
        """All its trainings. Small data sets need no estimate."""
        if len(self.dataset) * len(self.dataset.labels) < SMALL:
            return 0.0
        if self.state.one_vs_all_seconds is None:
            config = self.config.kinds[ONE_VS_ALL]
            encoded = self.features.of(self.train_set, config.text)
            estimate = one_vs_all_costs(self.train_set, encoded)(config)
            self.state.one_vs_all_seconds = estimate.spent.seconds
            self.saved.save()
        return self._trainings * self.state.one_vs_all_seconds

    @property
    def _ranker_seconds(self) -> float:
        """One training over words and vectors: of a tree, or of a classifier per label."""
        if not xr_transformer.is_flat(self.config.kinds[FROZEN], len(self.dataset.labels)):
            return DENSE_FACTOR * self._tree_seconds
        words = np.mean([len(set(text.split())) for text in self._sample(READING_TEXTS).texts])
        one = self._one_vs_all_seconds() / self._trainings
        return one * (1 + VECTOR_WORDS / max(1.0, float(words)))

    @property
    def _max_tokens(self) -> int:
        """Tokens of a text that are read: as set, or as many as there is time for."""
        self._measure_reading()
        assert self.state.max_tokens is not None
        return self.state.max_tokens

    @property
    def _seconds_per_text(self) -> float:
        """Reading time of the encoder with that many tokens."""
        self._measure_reading()
        assert self.state.seconds_per_text is not None
        return self.state.seconds_per_text

    def _measure_reading(self) -> None:
        """Tokens and speed, measured once."""
        if self.state.max_tokens is not None:
            return
        config = with_epochs(self.config.kinds[FROZEN], 0)
        tokens = config.encoder.max_tokens
        texts = self._sample(READING_TEXTS)
        while True:
            per_text = reading_speed(texts, truncated(config, tokens))
            fits = self._seconds_for_texts(per_text) <= READING_SHARE * self._seconds_left()
            if fits or tokens // 2 < MIN_TOKENS:
                break
            tokens //= 2
        self.state.max_tokens = tokens
        self.state.seconds_per_text = per_text
        self.saved.save()

    @property
    def _truncation(self) -> str:
        """A note where texts are truncated."""
        if self._max_tokens == self.config.kinds[FROZEN].encoder.max_tokens:
            return ""
        return f"reads {self._max_tokens} tokens of a text, for lack of time"

    def _seconds_for_texts(self, per_text: float) -> float:
        """All are read once, the held-out texts again."""
        return per_text * (len(self.dataset) + len(self.held_out))

    def _seconds_to_read(self) -> float:
        """All texts, and the trainings over them."""
        rankers = self._trainings * self._ranker_seconds
        if rankers > self._seconds_left():
            return rankers  # the speed of reading need not be measured
        return self._seconds_for_texts(self._seconds_per_text) + rankers

    def _sample(self, texts: int) -> Dataset:
        rows = np.random.default_rng(self.config.seed).permutation(len(self.train_set))
        return self.train_set.take(np.sort(rows[:texts]))

    def _epochs(self, name: str) -> int:
        """Epochs of fine-tuning that there is time for; 0: none."""
        per_text = self._seconds_per_text
        # An epoch costs no more than four readings; the probe takes five epochs in all.
        affordable = int(PROBE_SHARE * self._seconds_left() / (20 * per_text))
        if affordable < MIN_TEXTS:
            self._has_time(name, 20 * per_text * MIN_TEXTS / PROBE_SHARE)
            return 0
        sample = self._sample(min(LEARNING_TEXTS, affordable))
        module = FINE_TUNED[name]
        config = truncated(self.config.kinds[module.KIND], self._max_tokens)
        start, reading, epoch = learning_speed(sample, module, config, self.run.cache)
        once = start + reading * len(self.train_set)
        epoch *= len(self.train_set)
        after = per_text * len(self.held_out) + 2 * self._ranker_seconds
        if not self._has_time(name, once + epoch + after):
            return 0
        return min(int((self._seconds_left() - after - once) / epoch), self.config.max_epochs)

    # What is selected

    def _figures(self, ranking: Ranking) -> dict[str, float]:
        metrics = evaluate_ranking(ranking.top(5), self.held_out.relevant).metrics
        return {name: metrics[name] for name in METRICS}

    def _figure(self, trial: Trial) -> float:
        return trial.figures.get(self.config.metric, -1.0)

    @property
    def _combination(self) -> ensemble.Config:
        return ensemble.Config(how="logit", metric=self.config.metric)

    @property
    def _combinable(self) -> list[str]:
        """All trained models, but a tree only if it is not one of three."""
        return [name for name in self.models if name != TREE or TREES not in self.models]

    def _combine(self) -> dict[str, float]:
        """The weights of members in the learned combination."""
        rankings = [self.rankings[name] for name in self._combinable]
        config = self._combination
        found, spent = timed(
            lambda: ensemble.weights_for(
                rankings, self.held_out.relevant, self.train_set.trained_on(), config
            )
        )
        merged = merge(rankings, 5, config.how, np.array(found.weights), config.missing)
        weights = dict(zip(self._combinable, found.weights, strict=True))
        note = ", ".join(f"{weights[name]:.2f} {name}" for name in weights if weights[name])
        minutes = sum(each.minutes for each in self.tried) + spent.seconds / 60
        self.tried.append(Trial(COMBINED, minutes, self._figures(merged), note))
        return weights

    def _refitted(self, name: str) -> Model:
        """The model, if it is linear trained on the held-out texts too, which is quick."""
        if self.refits and name in LINEAR:
            return self._linear(name, self.dataset)
        if self.refits and name == FROZEN:
            return self._over_vectors(self.dataset, *self._read)
        return self.models[name]
