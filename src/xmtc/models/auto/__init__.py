"""auto: linear models first, then neural ones as far as the time allows; returns the best."""

from xmtc.models.auto.search import Config, train

__all__ = ["Config", "train"]
