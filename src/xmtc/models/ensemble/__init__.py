"""ensemble: several trained models that answer as one."""

from xmtc.models.ensemble.model import Config, Ensemble, train

__all__ = ["Config", "Ensemble", "train"]
