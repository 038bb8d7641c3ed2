"""ensemble: several trained models that answer as one."""

from xmtc.models.ensemble.model import Config, Ensemble, learned, of, train

__all__ = ["Config", "Ensemble", "learned", "of", "train"]
