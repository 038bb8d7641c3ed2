"""The loss of label-wise attention, which reads the states of all tokens."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from xmtc.core.arrays import Ints, as_csr
from xmtc.core.tree import Children
from xmtc.neural.distributed import Share
from xmtc.neural.heads.candidates import LabelCandidates, candidates_of
from xmtc.neural.training.task import LabelTask


@dataclass(frozen=True)
class AttentionLoss:
    """The head has `loss(states, mask, relevant, candidates)`."""

    children: Children | None = None  # of the level above; None: every node is a candidate
    expanded: Ints | None = None  # (texts, beam) nodes of that level whose children are

    def __call__(self, task: LabelTask, share: Share) -> Tensor:
        """Summed over these texts."""
        batch = task.batch(share.rows)
        states = share.counted(task.net.dropout(task.source.encoder.states(batch)))
        rows = share.counted(share.rows)
        relevant = as_csr(task.relevant[rows])
        candidates: LabelCandidates | None = None
        if self.children is not None and self.expanded is not None:
            candidates = candidates_of(self.expanded[rows], self.children, relevant)
        mask = share.counted(batch.mask)
        loss: Tensor = task.net.head.loss(states, mask, relevant, candidates)
        return loss
