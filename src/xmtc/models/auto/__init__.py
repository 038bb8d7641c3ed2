"""auto: linear models first, then neural ones as far as the time allows; returns the best."""

from xmtc.models.auto.search import Config, choose, train

__all__ = ["Config", "choose", "train"]
