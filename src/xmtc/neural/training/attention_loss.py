"""AttendedTask: an output layer that reads the states of all tokens, not one vector per text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from xmtc.core.arrays import Ints, Longs, as_csr
from xmtc.core.tree import Children
from xmtc.neural.batches.layout import thinned
from xmtc.neural.heads.candidates import Candidates, candidates_of
from xmtc.neural.training.task import LabelTask, Net


@dataclass(frozen=True)
class AttendedTask:
    """A LabelTask whose head has `loss(states, mask, relevant, candidates)`."""

    task: LabelTask
    children: Children | None = None  # of the level above; None: every node is a candidate
    opened: Ints | None = None  # (texts, most) nodes of that level whose children are

    @property
    def net(self) -> Net:
        """Everything that learns."""
        net: Net = self.task.net
        return net

    @property
    def parts(self) -> Mapping[str, tuple[nn.Module, float]]:
        """As in any task."""
        return self.task.parts

    def batches(self, epoch: int) -> Sequence[Longs]:
        """As in any task."""
        return self.task.batches(epoch)

    def measure(self) -> dict[str, float]:
        """As in any task."""
        return self.task.measure()

    def loss(self, rows: Longs) -> Tensor:
        """Summed over these texts."""
        batch = thinned(self.task.source.batch(rows), self.task.config.published.token_fraction)
        states = self.net.dropout(self.task.source.encoder.states(batch))
        relevant = as_csr(self.task.relevant[rows])
        candidates: Candidates | None = None
        if self.children is not None and self.opened is not None:
            candidates = candidates_of(self.opened[rows], self.children, relevant)
        loss: Tensor = self.task.net.head.loss(states, batch.mask, relevant, candidates)
        return loss
