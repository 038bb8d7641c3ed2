"""Data sets that come with xmtc."""

from __future__ import annotations

from xmtc.data.bundled import debian

__all__ = ["debian"]
