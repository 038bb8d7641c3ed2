"""Output layers: what turns a text's vector into scores of labels, and how it is taught."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xmtc.neural.heads.adaptive import AdaptiveLabelClusters
    from xmtc.neural.heads.adaptive_scorer import cluster_sizes

__all__ = ["AdaptiveLabelClusters", "cluster_sizes"]


def __getattr__(name: str) -> Any:
    """Looked up when first used: finished layers are read without torch."""
    if name == "AdaptiveLabelClusters":
        from xmtc.neural.heads.adaptive import AdaptiveLabelClusters

        return AdaptiveLabelClusters
    if name == "cluster_sizes":
        from xmtc.neural.heads.adaptive_scorer import cluster_sizes

        return cluster_sizes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
