"""xr_transformer: an encoder fine-tuned level by level, then a tree over words and vectors."""

from xmtc.models.xr_transformer.model import Config, XRTransformer, train

__all__ = ["Config", "XRTransformer", "train"]
