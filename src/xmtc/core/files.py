"""Writes files and folders whole or not at all: a draft next to the target, fsync, rename."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

AT_FDCWD = -100  # names are relative to the working folder
RENAME_EXCHANGE = 2


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """The name of a draft to write; when the block ends well, the draft becomes `path`.

    Drafts are hidden and carry this process's number, so that several processes may write the same
    file. A block that fails leaves nothing behind; drafts of processes that were killed are removed
    by the next one that writes the same file. What is moved into place has reached the disk.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with drafted(path) as draft:
        yield draft
        sync(draft)
        draft.replace(path)
        sync(path.parent)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with written(path) as draft:
        draft.write_text(text, encoding="utf-8")


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """The name of a draft of `path`; whatever is still there when the block ends is removed."""
    machine = f"{uuid.getnode():x}"
    for left in path.parent.glob(f".{escape(path.stem)}.{machine}-*.partial*"):
        process = left.name.removeprefix(f".{path.stem}.{machine}-").partition("-")[0]
        if process.isdigit() and not _runs(int(process)):
            remove(left)
    name = f".{path.stem}.{machine}-{os.getpid()}-{uuid.uuid4().hex[:8]}.partial{path.suffix}"
    draft = path.with_name(name)
    try:
        yield draft
    finally:
        remove(draft)


def exchange(first: Path, second: Path) -> bool:
    """Let two names change places in one step, where the system can: a reader finds either."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    names = (os.fsencode(first), os.fsencode(second))
    return bool(libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0)


def sync(path: Path) -> None:
    """Wait until this file, or this folder with all its files, has reached the disk."""
    if path.is_dir():
        for each in path.iterdir():
            if each.is_file():
                sync(each)
        if os.name != "posix":
            return  # only POSIX opens folders
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def remove(path: Path) -> None:
    """A file or a folder with all that is in it; nothing happens where there is neither."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Whether a process with this number runs, as far as can be told."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True
