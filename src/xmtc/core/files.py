"""Drafts: what is written under another name first, and renamed when it is whole."""

from __future__ import annotations

import os
import shutil
import uuid
from glob import escape
from pathlib import Path


def draft_of(path: Path, suffix: str = "") -> Path:
    """Another name beside `path`, of this process alone; others may be making the same.

    What processes of this machine left behind when they were killed is removed.
    """
    here = f"{uuid.getnode():x}"
    for left in path.parent.glob(f"{escape(path.stem)}.{here}-*.partial*"):
        process = left.name.removeprefix(f"{path.stem}.{here}-").partition("-")[0]
        if process.isdigit() and not _runs(int(process)):
            remove(left)
    name = f"{path.stem}.{here}-{os.getpid()}-{uuid.uuid4().hex[:8]}.partial{suffix}"
    return path.with_name(name)


def remove(draft: Path) -> None:
    """Whatever it is; nothing where it is gone."""
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Whether it still runs, as far as can be told."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True
