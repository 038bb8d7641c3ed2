"""auto: linear models first, then neural ones as far as the time reaches; the best is kept.

All are compared on texts that none of them was taught. What is kept is never worse there than
linear_tree. It is an ordinary model of its own kind: nothing of auto is left in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Floats
from xmtc.core.dataset import Dataset
from xmtc.core.errors import MissingExtra, StoreError, XmtcError, memory_errors, require
from xmtc.core.interfaces import Model
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.evaluation.report import evaluate_ranking
from xmtc.models import ensemble, lightxml, linear_tree, one_vs_all
from xmtc.models.auto.report import FIGURES, Choice, Tried, reason, said_of
from xmtc.models.auto.state import (
    Memory,
    Remembered,
    cut_to,
    learning_speed,
    parts_of,
    reading_speed,
    with_epochs,
)
from xmtc.models.xr_transformer import model as xr_transformer
from xmtc.neural.extra import require_neural
from xmtc.planning.cost import one_vs_all_costs, timed

if TYPE_CHECKING:
    from xmtc.neural.encoders.text_encoder import TextEncoder

KIND = "auto"
TREE = "linear_tree"
TREES = "three linear trees"
ONE = "one_vs_all"
JOINED = "xr_transformer"
COMBINED = "combination"
LINEAR: dict[str, Any] = {TREE: linear_tree, TREES: linear_tree, ONE: one_vs_all}
# What learns its encoder, the most promising first; the next one gets the time that is left.
LEARNERS: dict[str, Any] = {"taught xr_transformer": xr_transformer, "lightxml": lightxml}
WORTH_ASKING = 1_000_000  # texts times labels: what is smaller takes one_vs_all no time
SEVERAL = 3  # trees, where there is time
LINEAR_SHARE = 0.1  # of the time that is left, for several trees, and for one_vs_all
DENSE = 5  # times linear_tree's time, for a tree that reads an encoder's vectors too
VECTOR = 200  # words, about, that a vector costs a classifier as much time as
SPARE = 0.95  # of the time that is planned for
# texts by which the speed of reading and of learning is measured
READ = 128
LEARN = 256
READING = 0.35  # of the time that is left, for reading; texts are cut until it is enough
FEWEST_TOKENS = 32  # that texts are cut to
PROBE_SHARE = 0.1  # of the time that is left, for measuring the speed of learning
FEWEST = 16  # texts by which the speed of learning can be measured at all
TOO_FEW = "linear_tree alone: there are too few texts with labels to compare models"


@dataclass(frozen=True)
class Config:
    """Tries linear models, then neural ones as time allows, and keeps what is best."""

    minutes: float = 30.0  # of training in all, about
    metric: Literal["P@1", "P@3", "P@5", "nDCG@5"] = "P@5"  # by which the best is chosen
    validation: float = 0.1  # share of the texts by which models are compared; none is taught them
    most_validation: int = 2000  # texts for that, at most
    most_epochs: int = 6  # of what learns its encoder, if time allows
    seed: int = 0
    linear_tree: linear_tree.Config = field(default_factory=linear_tree.Config)
    one_vs_all: one_vs_all.Config = field(default_factory=one_vs_all.Config)
    xr_transformer: xr_transformer.Config = field(default_factory=xr_transformer.Config)
    lightxml: lightxml.Config = field(default_factory=lightxml.Config)

    def __post_init__(self) -> None:
        require(0 < self.minutes < math.inf, "minutes", self.minutes, "must be above 0, and finite")
        require(0 < self.validation < 1, "validation", self.validation, "between 0 and 1")
        require(self.most_validation >= 1, "most_validation", self.most_validation, "at least 1")
        require(self.most_epochs >= 1, "most_epochs", self.most_epochs, "must be at least 1")
        require(self.seed >= 0, "seed", self.seed, "must be 0 or more")


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Model:
    """The best model that the time allows. A run that is kept says in tried.json what was tried."""
    return choose(dataset, config, run).model


def choose(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Choice:
    """The same, with what was tried and why the best was kept."""
    reason = _nothing_to_compare(dataset, config)
    if reason:
        model, spent = timed(lambda: linear_tree.train(dataset, config.linear_tree))
        tried = Tried(TREE, spent.seconds / 60, {})
        choice = Choice(model, (tried,), TREE, reason)
    else:
        with run.with_cache() as cached:
            choice = Search(dataset, config, cached).choice()
    choice.write(run.folder)
    return choice


def _nothing_to_compare(dataset: Dataset, config: Config) -> str:
    """Why linear_tree is all that can be trained, or nothing."""
    if not dataset.texts:
        return (
            "linear_tree alone: the data has features and no texts, which it reads and others not"
        )
    if dataset.validation is None and len(dataset) <= 2 * FEWEST:
        return TOO_FEW
    rows, held_out = parts_of(dataset, config)
    taught = dataset.relevant[rows]
    return "" if len(rows) >= FEWEST and taught.nnz and held_out.relevant.nnz else TOO_FEW


class Search:
    """One model after the other, each trained on all but the validation texts.

    What is finished is kept in the run's folder: a search that was killed goes on after it.
    """

    def __init__(self, dataset: Dataset, config: Config, run: Run) -> None:
        self.dataset = replace(dataset, validation=None)
        self.config = config
        self.rows, self.held_out = parts_of(dataset, config)
        self.taught = self.dataset.take(self.rows)
        self.learns_all = dataset.validation is None  # in the end, the texts held out too
        self.run = run
        self.cache = run.cache
        self.memory = Memory.of(training_key(settings.to_dict(config), dataset), run)
        self.members: dict[str, Model] = {}
        self.answers: dict[str, Model] = {}  # the same, with their rankings at hand
        self.tried: list[Tried] = []

    def choice(self) -> Choice:
        """Everything that fits, compared; the best, its linear parts taught all texts."""
        self._try(TREE, partial(self._linear, TREE, self.taught))
        if self.config.linear_tree.trees < SEVERAL and not self.config.linear_tree.parents:
            self._spared(TREES, partial(self._try_linear, TREES, self._seconds_of_trees))
        self._spared(ONE, partial(self._try_linear, ONE, self._seconds_of_one))
        self._try_neural()
        weights = self._combined() if len(self._combinable) > 1 else {}
        best = max(self.tried, key=self._figure)  # of equals the first, which is the simplest
        used = [name for name in weights if weights[name]] if best.name == COMBINED else [best.name]
        again = [name for name in used if name not in LEARNERS and self.learns_all]
        ahead = self._figure(best) - self._figure(self.tried[0])
        why = (
            reason(best.name, self.tried[0].name, self.config.metric, ahead),
            said_of(len(self.held_out), again),
        )
        return Choice(self._finished(best, weights), tuple(self.tried), best.name, " ".join(why))

    def _try_neural(self) -> None:
        try:
            require_neural("a neural model")
        except MissingExtra as missing:
            self.tried.append(Tried(JOINED, 0.0, {}, f"not tried: {missing}"))
            return
        if self._spared(JOINED, self._try_joined):
            for name in LEARNERS:
                self._spared(name, partial(self._try_learner, name))

    def _spared(self, name: str, attempt: Callable[[], bool]) -> bool:
        """Whether an attempt came to an end. One that fails costs no more than itself."""
        try:
            with memory_errors():
                return attempt()
        except (XmtcError, MemoryError, OSError) as problem:
            self.tried.append(Tried(name, 0.0, {}, f"failed: {problem or type(problem).__name__}"))
            return False

    def _try_joined(self) -> bool:
        fits = self._fits(JOINED, self._seconds_to_read)
        if fits:
            self._try(JOINED, self._joined, self._cut)
        return fits

    def _try_learner(self, name: str) -> bool:
        epochs = int(self.memory.number(f"epochs of {name}", partial(self._epochs, name)))
        if epochs:
            self._try(name, partial(self._taught, name, epochs), self._cut)
        else:
            self._skip(name)
        return epochs > 0

    def _try_linear(self, name: str, seconds: Callable[[], float]) -> bool:
        fits = self._fits(name, seconds, LINEAR_SHARE)
        if fits:
            self._try(name, partial(self._linear, name, self.taught))
        return fits

    def _linear(self, name: str, texts: Dataset) -> Model:
        config = getattr(self.config, LINEAR[name].KIND)
        if name == TREES:
            config = replace(config, trees=SEVERAL)
        model: Model = LINEAR[name].train(texts, config)
        return model

    def _try(self, name: str, make: Callable[[], Model], note: str = "") -> None:
        model, seconds = self.memory.member(name, make)
        answers = Remembered.of(model, self.held_out.texts)
        self.tried.append(Tried(name, seconds / 60, self._figures(answers), note))
        self.members[name] = model
        self.answers[name] = answers

    def _fits(self, name: str, needed: Callable[[], float], share: float = 1.0) -> bool:
        """Whether a share of the time is enough for it; decided once."""

        def found() -> float:
            return float(self._time_for(name, needed(), share))

        if not self.memory.number(f"{name} fits", found):
            self._skip(name)
            return False
        return True

    def _time_for(self, name: str, needed: float, share: float = 1.0) -> bool:
        left = max(0.0, share * self._left())
        about = f"needs about {needed / 60:.1f} min, {left / 60:.1f} are left for it"
        self.memory.note(f"why not {name}", f"not tried: {about}")
        return needed < left

    def _skip(self, name: str) -> None:
        self.tried.append(Tried(name, 0.0, {}, self.memory.said[f"why not {name}"]))

    def _figures(self, model: Model) -> dict[str, float]:
        metrics = evaluate_ranking(
            model.rank(self.held_out.texts, 5), self.held_out.relevant
        ).metrics
        return {name: metrics[name] for name in FIGURES}

    def _figure(self, tried: Tried) -> float:
        return tried.figures.get(self.config.metric, -1.0)

    def _left(self) -> float:
        """Seconds, without what it takes to teach linear models the texts held out too."""
        linear = 60 * sum(each.minutes for each in self.tried if each.name in LINEAR)
        again = (self._times - 1) * linear
        return self.config.minutes * 60 * SPARE - self.memory.seconds() - again

    @property
    def _times(self) -> int:
        """How often what is linear is trained: in the end once more, with the texts held out."""
        return 2 if self.learns_all else 1

    @property
    def _tree_seconds(self) -> float:
        return 60 * next(each.minutes for each in self.tried if each.name == TREE)

    def _seconds_of_trees(self) -> float:
        return self._times * SEVERAL / self.config.linear_tree.trees * self._tree_seconds

    def _seconds_of_one(self) -> float:
        """All its trainings. Small data is not worth the estimate."""
        if len(self.dataset) * len(self.dataset.labels) < WORTH_ASKING:
            return 0.0
        return self._times * self.memory.number("one_vs_all takes", self._one_takes)

    def _one_takes(self) -> float:
        return one_vs_all_costs(self.taught)(self.config.one_vs_all).spent.seconds

    @property
    def _joined_seconds(self) -> float:
        """One training of what reads words and vectors: of a tree, or of a classifier per label."""
        if not xr_transformer.is_flat(self.config.xr_transformer, len(self.dataset.labels)):
            return DENSE * self._tree_seconds
        words = np.mean([len(set(text.split())) for text in self._some(READ).texts])
        return self._seconds_of_one() / self._times * (1 + VECTOR / max(1.0, float(words)))

    @property
    def _tokens(self) -> int:
        """What is read of a text with an encoder: as many as are set, or as there is time for."""
        return self._reading[0]

    @property
    def _per_text(self) -> float:
        """Seconds in which the encoder reads so much of a text."""
        return self._reading[1]

    @property
    def _reading(self) -> tuple[int, float]:
        """Both, measured once."""
        names = ("tokens of a text", "seconds to read a text")
        said = self.memory.said
        if not said.keys() >= set(names):
            for name, value in zip(names, self._reading_in_time(), strict=True):
                self.memory.note(name, value)
        return int(said[names[0]]), float(said[names[1]])

    def _reading_in_time(self) -> tuple[int, float]:
        tokens = self.config.xr_transformer.encoder.max_tokens
        texts = self._some(READ)
        while True:
            per_text = reading_speed(texts, cut_to(self._reader_of_all, tokens))
            fits = self._seconds_for_texts(per_text) <= READING * self._left()
            if fits or tokens // 2 < FEWEST_TOKENS:
                return tokens, per_text
            tokens //= 2

    @property
    def _cut(self) -> str:
        """What to say of it."""
        if self._tokens == self.config.xr_transformer.encoder.max_tokens:
            return ""
        return f"reads {self._tokens} tokens of a text, for lack of time"

    def _seconds_for_texts(self, per_text: float) -> float:
        """All are read once, the validation texts again."""
        return per_text * (len(self.dataset) + len(self.held_out))

    def _seconds_to_read(self) -> float:
        """All texts, and the trees of them."""
        trees = self._times * self._joined_seconds
        if trees > self._left():
            return trees  # the speed of reading need not be measured
        return self._seconds_for_texts(self._per_text) + trees

    def _some(self, texts: int) -> Dataset:
        rows = np.random.default_rng(self.config.seed).permutation(len(self.taught))
        return self.taught.take(np.sort(rows[:texts]))

    @cached_property
    def _read(self) -> tuple[TextEncoder, Floats]:
        """The encoder, and what it makes of all texts: read once, used by all neural models."""
        from xmtc.neural.devices import Rng

        how = (self.dataset, self._reader, self.cache)
        try:
            return xr_transformer.read(*how, Rng(self.config.seed), True)
        except StoreError:  # no room for what those that are taught would need
            return xr_transformer.read(*how, Rng(self.config.seed))

    @property
    def _reader_of_all(self) -> xr_transformer.Config:
        return with_epochs(self.config.xr_transformer, 0)  # type: ignore[no-any-return]

    @property
    def _reader(self) -> xr_transformer.Config:
        return cut_to(self._reader_of_all, self._tokens)  # type: ignore[no-any-return]

    def _learner(self, name: str) -> Any:
        """The settings of what learns its encoder."""
        return cut_to(getattr(self.config, LEARNERS[name].KIND), self._tokens)

    def _joined(self) -> Model:
        encoder, vectors = self._read
        mine = vectors[self.rows]
        return xr_transformer.of_vectors(self.taught, encoder, mine, self._reader)

    def _epochs(self, name: str) -> float:
        """How many passes there is time for; 0: none."""
        # An epoch costs no more than four readings; the probe takes five epochs in all.
        most = int(PROBE_SHARE * self._left() / (20 * self._per_text))
        if most < FEWEST:
            self._time_for(name, 20 * self._per_text * FEWEST / PROBE_SHARE)
            return 0
        some = self._some(min(LEARN, most))
        module = LEARNERS[name]
        least, *speed = learning_speed(some, module, self._learner(name), self.cache)
        once, epoch = (each * len(self.taught) for each in speed)
        once += least
        after = self._per_text * len(self.held_out) + 2 * self._joined_seconds
        if not self._time_for(name, once + epoch + after):
            return 0
        return min(int((self._left() - after - once) / epoch), self.config.most_epochs)

    def _taught(self, name: str, epochs: int) -> Model:
        module = LEARNERS[name]
        config = with_epochs(self._learner(name), epochs)
        model: Model = module.train(self.taught, config, self.run.below(module.KIND))
        return model

    @property
    def _combinable(self) -> list[str]:
        """All that were trained, but not a tree beside three of which it is the first."""
        return [name for name in self.members if name != TREE or TREES not in self.members]

    def _combined(self) -> dict[str, float]:
        """The weights of members in the learned combination."""
        members = [self.answers[name] for name in self._combinable]
        how = self._how
        found, spent = timed(lambda: ensemble.learn_weights(members, self.held_out, how))
        model = ensemble.weighted(members, found.weights, how)
        weights = dict(zip(self._combinable, found.weights, strict=True))
        note = ", ".join(f"{weights[name]:.2f} {name}" for name in weights if weights[name])
        minutes = sum(each.minutes for each in self.tried) + spent.seconds / 60
        self.tried.append(Tried(COMBINED, minutes, self._figures(model), note))
        return weights

    @property
    def _how(self) -> ensemble.Config:
        return ensemble.Config(how="logit", metric=self.config.metric)

    def _finished(self, best: Tried, weights: dict[str, float]) -> Model:
        """The best, its linear parts taught the texts held out too, which is quick."""
        if best.name != COMBINED:
            return self._whole(best.name)
        members = [self._whole(name) if weights[name] else self.members[name] for name in weights]
        return ensemble.weighted(members, tuple(weights.values()), self._how)

    def _whole(self, name: str) -> Model:
        if not self.learns_all:
            return self.members[name]
        if name in LINEAR:
            return self._linear(name, self.dataset)
        if name == JOINED:
            return xr_transformer.of_vectors(self.dataset, *self._read, self._reader)
        return self.members[name]
