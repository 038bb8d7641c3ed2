"""LightXML's two output layers: a generator that scores clusters, a discriminator that scores the
labels of the clusters that look right at that moment. Both learn from the same text vector."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Array, Csr, Ints, Longs
from xmtc.core.tree import LabelTree
from xmtc.neural import distributed, label_shards
from xmtc.neural.heads.candidates import candidates_of, hardest_clusters
from xmtc.neural.heads.dense_scorer import Bottleneck, DenseScorer
from xmtc.neural.heads.flat import Flat, array, bce


class TwoLevel(nn.Module):
    """Clusters, then labels. `teaches` says which of the two losses count."""

    def __init__(
        self,
        dim: int,
        tree: LabelTree,
        narrow: int,
        beam: int,
        mean: bool,
        sigmoid: bool = False,
        overflow: str = "extend",
        pads: str = "masked",
    ) -> None:
        super().__init__()
        self.tree = tree
        self.beam = beam
        self.mean = mean
        self.overflow = overflow
        self.pads = pads
        self.sigmoid = sigmoid
        self.generator = Flat(dim, len(tree.parents[0]), mean)
        self.bottleneck = nn.Linear(dim, narrow)
        # Only the rows of a batch's candidates get gradients and change.
        self.labels = nn.Embedding(tree.label_count, narrow, sparse=True)
        nn.init.xavier_uniform_(self.labels.weight)
        self.teaches = {"generator", "labels"}
        self.mine: slice | None = None  # the labels of this process; None: it has all

    def shard(self) -> None:
        """From here on this process holds its own clusters' and labels' rows only."""
        self.generator.shard()
        self.mine = label_shards.my_rows(self.tree.label_count)
        self.labels.weight = label_shards.own(self.labels.weight[self.mine])

    def teach(self, what: str) -> None:
        """From here on only the "generator" or only the "labels" learn."""
        self.teaches = {what}
        self.generator.requires_grad_(what == "generator")
        for part in (self.bottleneck, self.labels):
            part.requires_grad_(what == "labels")

    def loss(self, vectors: Tensor, relevant: Csr, chosen_by: Tensor | None = None) -> Tensor:
        """Both losses, summed over the texts.

        chosen_by: vectors by which the generator chooses the candidates, where they are not the
        same.
        """
        true_clusters = self.tree.relevant_at(0, relevant)
        total = vectors.new_zeros(())
        if "generator" in self.teaches:
            logits = self.generator(vectors)
            total = total + self.generator.loss_of(logits, true_clusters)
        if "labels" in self.teaches:
            if chosen_by is not None or "generator" not in self.teaches:
                with torch.no_grad():
                    logits = self.generator(vectors if chosen_by is None else chosen_by)
            chances = torch.sigmoid(self.generator.of_all_nodes(logits).float()).cpu().numpy()
            clusters = hardest_clusters(chances, true_clusters, self.beam)
            total = total + self._label_loss(vectors, clusters, relevant)
        return total

    def _label_loss(self, vectors: Tensor, clusters: Ints, relevant: Csr) -> Tensor:
        children = self.tree.children[1]
        widest = distributed.most
        found = candidates_of(clusters, children, relevant, self.overflow, self.pads, widest)
        texts, places = np.nonzero(found.counts & self._is_mine(found.labels))
        on = vectors.device
        targets = torch.from_numpy(found.relevant[texts, places]).to(on).float()
        labels = torch.from_numpy(found.labels[texts, places].astype(np.int64)).to(on)
        total = bce(self.label_logits(vectors, torch.from_numpy(texts).to(on), labels), targets)
        if not self.mean:
            return total
        counted = int(found.counts.sum())
        texts_in_all = len(vectors)
        if self.mine is None:  # else all processes have all texts here
            counted = distributed.summed(counted)
            texts_in_all = distributed.summed(texts_in_all)
        return total * texts_in_all / counted

    def _is_mine(self, labels: Ints) -> Array:
        mine = self.mine or slice(0, self.tree.label_count)
        inside: Array = (labels >= mine.start) & (labels < mine.stop)
        return inside

    def label_logits(self, vectors: Tensor, texts: Tensor, labels: Tensor) -> Tensor:
        """Of each pair of a text's place in (texts, dim) and a label.

        Texts of a batch share many candidates: each label's row is fetched once, and one matrix
        product serves all.
        """
        narrow = self.bottleneck(vectors)
        narrow = torch.sigmoid(narrow) if self.sigmoid else narrow
        rows, places = torch.unique(labels, return_inverse=True)
        table = narrow @ self.labels(rows - (self.mine.start if self.mine else 0)).T
        logits: Tensor = table.flatten().gather(0, texts * len(rows) + places)
        return logits

    def start_at_frequency(self, counts: Longs, texts: int) -> None:
        """At first the generator gives every text each cluster's frequency."""
        self.generator.start_at_frequency(counts, texts)

    def scorers(self, part: int = 0) -> tuple[DenseScorer, ...]:
        """The finished layers of both levels; labels read the vector of encoder number `part`."""
        narrow = Bottleneck(
            array(self.bottleneck.weight), array(self.bottleneck.bias), self.sigmoid
        )
        dim = narrow.weights.shape[1]
        rows = self.labels.weight if self.mine is None else label_shards.whole(self.labels.weight)
        labels = DenseScorer(array(rows), None, narrow, part * dim, (part + 1) * dim)
        return (self.generator.scorer(), labels)
