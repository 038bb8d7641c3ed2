"""Settings of xr_transformer: the encoder, its training level by level, and the ranker after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xmtc.core.config import changed, check_bounds, group, setting
from xmtc.core.errors import require
from xmtc.models import linear_tree, one_vs_all
from xmtc.neural.settings import (
    MAX_FLAT_LABELS,
    MAX_LEAF,
    VECTOR_DROPOUT,
    EncoderConfig,
    FineTuning,
    Pretrained,
    untrained,
)


@dataclass(frozen=True)
class LevelConfig:
    """The balanced label tree on whose levels the encoder is fine-tuned, from coarse to fine."""

    arity: int = setting(16, "children of a node; a power of 2", low=2)
    max_leaf: int = setting(16, MAX_LEAF, low=1)
    max_nodes: int = setting(32_768, "maximum nodes of a level; finer ones are left out", low=1)
    epoch_shares: tuple[float, ...] = setting(
        (3.0, 4.0, 6.0), "epochs of each level, relative; further levels have the last one"
    )
    beam: int = setting(
        5, "beam width: nodes whose children are a text's candidates", low=1, high=1 << 20
    )

    def __post_init__(self) -> None:
        power = self.arity >= 2 and self.arity & (self.arity - 1) == 0
        require(power, "arity", self.arity, "must be a power of 2, at least 2")
        shares = self.epoch_shares
        sound = bool(shares) and min(shares) >= 0 and sum(shares) > 0
        expected = "expected one number per level, none below 0 and not all 0"
        require(sound, "epoch_shares", shares, expected)
        check_bounds(self)


@dataclass(frozen=True)
class TreeRanker(linear_tree.Config):
    """Label trees with linear classifiers, with the settings of linear_tree."""

    TYPE: ClassVar[str] = "tree"


@dataclass(frozen=True)
class OneVsAllRanker(one_vs_all.Config):
    """One linear classifier per label, with the settings of one_vs_all."""

    TYPE: ClassVar[str] = "one_vs_all"
    max_terms: int | None = setting(96, "maximum terms per text, by weight (None: all)", low=1)

    def as_tree(self) -> TreeRanker:
        """Settings of a tree without levels above the labels."""
        return TreeRanker(
            text=self.text,
            max_terms=self.max_terms,
            weight_type=self.weight_type,
            seed=self.seed,
            published=linear_tree.PublishedLinearTree(score="label"),
        )


@dataclass(frozen=True)
class Config:
    """Linear classifiers over words and an encoder's vectors; training.epochs=0 is the fastest."""

    encoder: EncoderConfig = group(Pretrained, "what reads the texts")
    training: FineTuning = group(FineTuning)
    dropout: float = setting(0.1, VECTOR_DROPOUT, low=0, below=1)
    levels: LevelConfig = group(LevelConfig)
    vector_weight: float = setting(
        0.7, "length of the encoder's vector; that of the words is 1", above=0, high=1000
    )
    max_flat_labels: int | None = setting(5_000, f"{MAX_FLAT_LABELS}: one_vs_all", low=0)
    ranker: TreeRanker | OneVsAllRanker | None = group(
        None, "ranker: tree or one_vs_all (None: by max_flat_labels)"
    )

    def __post_init__(self) -> None:
        check_bounds(self)
        shards = self.training.published.shard_labels
        expected = "output layers are small here and are not sharded"
        require(not shards, "training.published.shard_labels", shards, expected)

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings that do nothing in this combination, and why."""
        if self.ranker is not None:
            yield from ((name, "the ranker is set") for name in changed(self, "max_flat_labels"))
        yield from untrained(self)
        if self.training.epochs == 0:
            for name in changed(self, "dropout", "levels"):
                yield name, "training.epochs=0: the encoder is not fine-tuned"

    def ranker_for(self, labels: int) -> TreeRanker | OneVsAllRanker:
        """The ranker of a data set with this many labels."""
        if self.ranker is not None:
            return self.ranker
        flat = self.max_flat_labels is None or labels <= self.max_flat_labels
        return OneVsAllRanker() if labels and flat else TreeRanker()

    @property
    def tree_ranker(self) -> TreeRanker:
        """The classifiers that also prepare each level's training."""
        return self.ranker if isinstance(self.ranker, TreeRanker) else TreeRanker()

    @property
    def any_ranker(self) -> TreeRanker | OneVsAllRanker:
        """The ranker, as far as it does not depend on the number of labels."""
        return self.ranker or TreeRanker()
