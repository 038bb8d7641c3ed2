"""Files appear whole or not at all, and drafts of killed processes do not stay."""

from __future__ import annotations

import subprocess
import sys

import pytest

from xmtc.core.files import drafted, exchange, remove, written


def test_a_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "folder" / "states.npy"
    with written(path) as draft:
        draft.write_text("whole")
        assert draft.suffix == ".npy"  # np.save would add it
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_a_block_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "states.npy"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), written(path) as draft:
        draft.write_text(str(1 / 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_written_like_a_file(tmp_path):
    with written(tmp_path / "tokens") as draft:
        draft.mkdir()
        (draft / "ids").write_text("1 2 3")
    assert (tmp_path / "tokens" / "ids").read_text() == "1 2 3"


def test_two_writers_of_one_file_have_a_draft_each(tmp_path):
    path = tmp_path / "states.npy"
    with written(path) as first, written(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first"  # the outer block ends last


def test_drafts_of_a_killed_process_are_removed_and_nothing_else(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from xmtc.core.files import written\n"
        "path = Path(sys.argv[1])\n"
        "with written(path / 'states-1.npy') as one, written(path / 'states-2.npy') as two:\n"
        "    one.write_text('half'); two.mkdir(); os._exit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with written(tmp_path / "states-1.npy") as draft:
        assert len(list(tmp_path.iterdir())) == 1
        draft.write_text("whole")
        with written(tmp_path / "states-1.npy") as other:  # the first draft is a living process's
            assert draft.exists()
            other.write_text("other")
    with drafted(tmp_path / "states-2.npy"):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "states-1.npy"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs renameat2")
def test_two_folders_change_places_in_one_step(tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which").write_text(name)
    assert exchange(tmp_path / "old", tmp_path / "new")
    assert (tmp_path / "old" / "which").read_text() == "new"
    assert (tmp_path / "new" / "which").read_text() == "old"
    assert not exchange(tmp_path / "old", tmp_path / "nothing")


def test_removing_nothing_is_no_error(tmp_path):
    remove(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    remove(tmp_path / "link")
    assert (tmp_path / "folder").exists()
    remove(tmp_path / "folder")
    assert not list(tmp_path.iterdir())
