"""xbert: index the labels into clusters, match texts to clusters, rank the labels inside."""

from xmtc.models.xbert.model import Config, XBert, train

__all__ = ["Config", "XBert", "train"]
