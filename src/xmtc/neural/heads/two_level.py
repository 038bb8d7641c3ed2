"""LightXML's two output layers: a generator that scores clusters, and a discriminator that scores
the labels of the likeliest clusters. Both are trained on the same text vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xmtc.core.arrays import Csr, Longs
from xmtc.core.tree import LabelTree
from xmtc.neural import distributed
from xmtc.neural.heads.candidates import candidates_of, hardest_clusters
from xmtc.neural.heads.dense_scorer import Bottleneck, DenseScorer
from xmtc.neural.heads.flat import Flat, array, bce


class TwoLevel(nn.Module):
    """Clusters, then labels."""

    def __init__(
        self,
        dim: int,
        tree: LabelTree,
        label_dim: int,
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
        self.bottleneck = nn.Linear(dim, label_dim)
        # Only the rows of a batch's candidates get gradients and change.
        self.labels = nn.Embedding(tree.label_count, label_dim, sparse=True)
        nn.init.xavier_uniform_(self.labels.weight)
        self.shard_rows: slice | None = None  # the labels of this process; None: it has all

    def shard(self) -> None:
        """From here on this process holds its own clusters' and labels' rows only."""
        self.generator.shard()
        self.shard_rows = distributed.shard_of(self.tree.label_count)
        self.labels.weight = distributed.sharded(self.labels.weight[self.shard_rows])

    def loss(self, vectors: Tensor, relevant: Csr, chosen_by: Tensor | None = None) -> Tensor:
        """Both losses, summed over the texts.

        chosen_by: the vectors that the generator reads to choose candidates; None: the same.
        """
        true_clusters = self.tree.relevant_at(0, relevant)
        logits = self.generator(vectors)
        loss = self.generator.loss_of(logits, true_clusters)
        if chosen_by is not None:
            with torch.no_grad():
                logits = self.generator(chosen_by)
        return loss + self.label_loss(vectors, relevant, logits, true_clusters)

    def label_loss(
        self, vectors: Tensor, relevant: Csr, cluster_logits: Tensor, true_clusters: Csr
    ) -> Tensor:
        """The discriminator's loss on the labels of true clusters and of the likeliest others."""
        logits = self.generator.of_all_nodes(cluster_logits)
        probabilities = torch.sigmoid(logits.float()).cpu().numpy()
        clusters = hardest_clusters(probabilities, true_clusters, self.beam)
        children = self.tree.children[1]
        width = distributed.largest
        found = candidates_of(clusters, children, relevant, self.overflow, self.pads, width)
        own = self.shard_rows or slice(0, self.tree.label_count)
        is_own = (found.labels >= own.start) & (found.labels < own.stop)
        texts, places = (found.counts & is_own).nonzero()
        on = vectors.device
        targets = torch.from_numpy(found.relevant[texts, places]).to(on).float()
        labels = torch.from_numpy(found.labels[texts, places].astype("int64")).to(on)
        loss = bce(self.label_logits(vectors, torch.from_numpy(texts).to(on), labels), targets)
        if not self.mean:
            return loss
        n_candidates = int(found.counts.sum())
        n_texts = len(vectors)
        if self.shard_rows is None:  # else all processes have all texts here
            n_candidates = distributed.total(n_candidates)
            n_texts = distributed.total(n_texts)
        return loss * n_texts / n_candidates

    def label_logits(self, vectors: Tensor, texts: Tensor, labels: Tensor) -> Tensor:
        """Of each pair of a text's place in (texts, dim) and a label.

        Texts of a batch share many candidates: each label's row is fetched once, and one matrix
        product serves all.
        """
        narrow = self.bottleneck(vectors)
        narrow = torch.sigmoid(narrow) if self.sigmoid else narrow
        rows, places = torch.unique(labels, return_inverse=True)
        table = narrow @ self.labels(rows - (self.shard_rows.start if self.shard_rows else 0)).T
        logits: Tensor = table.flatten().gather(0, texts * len(rows) + places)
        return logits

    def start_at_frequency(self, counts: Longs, texts: int) -> None:
        """At first the generator gives every text each cluster's frequency."""
        self.generator.start_at_frequency(counts, texts)

    def scorers(self) -> tuple[DenseScorer, ...]:
        """The finished layers of both levels."""
        narrow = Bottleneck(
            array(self.bottleneck.weight), array(self.bottleneck.bias), self.sigmoid
        )
        own = self.labels.weight
        rows = own if self.shard_rows is None else distributed.gathered(own)
        labels = DenseScorer(array(rows), None, narrow)
        return (self.generator.scorer(), labels)
