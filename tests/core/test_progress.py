"""Progress bars appear on standard error when somebody looks, and never anywhere else."""

import io
import sys

import pytest

from xmtc.core import progress
from xmtc.core.progress import show_progress, track
from xmtc.core.threads import in_threads, set_threads


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", -1)
    yield
    assert progress._live == []  # every display is gone again


@pytest.mark.parametrize("answer", [None, False])
def test_without_a_terminal_nothing_is_written(capfd, answer):
    show_progress(answer)
    with track("clustering", 3) as advance:
        for _ in range(3):
            advance(1)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_shown_on_standard_error_when_asked_for(capfd):
    show_progress(True)
    with track("clustering", 3) as advance:
        for _ in range(3):
            advance(1)
    out, err = capfd.readouterr()
    assert out == ""
    assert "clustering" in err
    assert "100%" in err


def test_a_bar_is_shown_on_a_terminal_unless_it_is_switched_off(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    show_progress(False)
    with track("clustering", 2) as advance:
        advance(2)
    assert terminal.getvalue() == ""
    show_progress(None)
    with track("clustering", 2) as advance:
        advance(2)
    assert "clustering" in terminal.getvalue()


def test_quick_steps_stay_silent(capfd, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 60)
    show_progress(True)
    with track("clustering", 3) as advance:
        advance(3)
    assert capfd.readouterr() == ("", "")


def test_steps_of_unknown_length_have_a_bar_too(capfd):
    show_progress(True)
    with track("reading") as advance:
        advance(7)
    assert "reading" in capfd.readouterr().err


def test_nested_steps_share_the_display(capfd):
    show_progress(True)
    with track("outer", 2) as outer:
        for _ in range(2):
            with track("inner", 5) as inner:
                inner(5)
                assert len(progress._live) == 1
            outer(1)
    err = capfd.readouterr().err
    assert "outer" in err
    assert "100%" in err


def test_an_outer_step_may_begin_to_show_while_an_inner_one_does(capfd):
    show_progress(True)
    with track("outer", 3) as outer:
        with track("inner", 1) as inner:
            inner(1)
            outer(1)
        outer(2)
        assert len(progress._live) == 1
    assert "100%" in capfd.readouterr().err


def test_an_error_takes_the_bar_down_and_comes_out(capfd):
    show_progress(True)
    with pytest.raises(KeyError), track("outer", 2) as outer:
        outer(1)
        with track("inner", 2) as inner:
            inner(1)
            raise KeyError
    assert "outer" in capfd.readouterr().err


def test_threads_may_advance_one_bar_together(capfd):
    show_progress(True)
    set_threads(8)
    with track("training", 4000) as advance:
        in_threads(lambda _: [advance(1) for _ in range(50)], range(80))
    assert "100%" in capfd.readouterr().err
