"""Drafts: each process has its own, and those of killed ones do not stay."""

from __future__ import annotations

import subprocess
import sys

from xmtc.core.files import draft_of, remove


def test_two_drafts_of_one_file_are_two(tmp_path):
    first, second = (draft_of(tmp_path / "states-1.npy", ".npy") for _ in range(2))
    assert first != second
    assert first.parent == tmp_path
    assert first.suffix == ".npy"


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    code = (
        "from pathlib import Path; from xmtc.core.files import draft_of\n"
        f"for name in ('states-1.npy', 'states-2.npy'): draft_of(Path({str(tmp_path)!r}) / name)"
        ".write_text('half')\n"
        f"draft_of(Path({str(tmp_path)!r}) / 'states-1.npy').mkdir()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    mine = draft_of(tmp_path / "states-2.npy")  # removes that of the same file
    mine.write_text("being written")
    (tmp_path / "states-1.npy").write_text("whole")
    assert len(list(tmp_path.iterdir())) == 4
    draft_of(tmp_path / "states-1.npy")
    assert sorted(tmp_path.iterdir()) == sorted([mine, tmp_path / "states-1.npy"])
    draft_of(tmp_path / "states-2.npy")
    assert mine.exists()
    remove(mine)
    remove(mine)
    assert not mine.exists()
