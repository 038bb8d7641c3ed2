"""Work is cut into blocks that cover everything once, and threads do not show in the result."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmtc.core.errors import ConfigError
from xmtc.core.threads import blocks, in_threads, set_threads, thread_count


@given(st.integers(0, 200), st.integers(1, 50))
def test_blocks_cover_everything_once_in_order(total, size):
    cut = blocks(total, size)
    assert [i for start, end in cut for i in range(start, end)] == list(range(total))
    assert all(end - start == size for start, end in cut[:-1])


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_the_order_of_the_items(threads):
    set_threads(threads)

    def slow_first(item):
        time.sleep(0.02 if item == 0 else 0)
        return item * 2

    assert in_threads(slow_first, iter(range(9))) == list(range(0, 18, 2))
    assert in_threads(slow_first, []) == []


def test_as_many_threads_work_at_once_as_were_asked_for():
    set_threads(3)
    together = threading.Barrier(3, timeout=10)
    assert len(set(in_threads(lambda item: together.wait(), range(3)))) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_out_and_stops_the_rest(threads):
    set_threads(threads)
    done = []

    def work(item):
        if item == 1:
            raise KeyError("item 1")
        time.sleep(0.002)
        done.append(item)

    with pytest.raises(KeyError, match="item 1"):
        in_threads(work, range(500))
    assert len(done) < 250


def test_threads_may_start_threads():
    set_threads(2)
    assert in_threads(lambda i: sum(in_threads(lambda j: i * j, range(5))), range(5)) == [
        0,
        10,
        20,
        30,
        40,
    ]


def test_the_last_word_on_the_number_of_threads_counts(monkeypatch):
    monkeypatch.delenv("XMTC_THREADS", raising=False)
    cores = thread_count()
    assert cores >= 1
    monkeypatch.setenv("XMTC_THREADS", "5")
    assert thread_count() == 5
    set_threads(3)
    assert thread_count() == 3
    set_threads(None)
    assert thread_count() == 5
    monkeypatch.setenv("XMTC_THREADS", "")
    assert thread_count() == cores


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", " ", "²"])
def test_an_odd_number_of_threads_in_the_environment_is_refused(monkeypatch, value):
    monkeypatch.setenv("XMTC_THREADS", value)
    with pytest.raises(ConfigError, match="XMTC_THREADS"):
        thread_count()


@pytest.mark.parametrize("count", [0, -1])
def test_at_least_one_thread_must_work(count):
    with pytest.raises(ConfigError, match="at least 1"):
        set_threads(count)
