"""A peer at work in its own process: it is asked in lines of JSON and answers in lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.kit import BenchmarkError
from benchmarks.peers.venv import VenvError, python_of
from benchmarks.process import OOM

NO_MEMORY = ("MemoryError", "bad_alloc", "Cannot allocate memory")  # what languages say of it


class PeerFailed(BenchmarkError):
    """What became of a peer that gave no answer."""


class Peer:
    """`with Peer("pecos", "pecos_tfidf.py", "texts.txt") as pecos: pecos.ask(threads=2)`

    The script stays alive between questions, so that rounds of several systems can take turns.
    Its first line says what it is (versions); then one answer per question.
    """

    def __init__(self, name: str, script: str, *arguments: str) -> None:
        self._script = Path(__file__).resolve().parent / script
        try:
            # Isolated (-I): nothing of our own environment or of this folder is imported.
            command = [str(python_of(name)), "-I", str(self._script), *arguments]
        except VenvError as problem:
            raise BenchmarkError(str(problem)) from None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            start_new_session=True,  # so that its own children can be ended with it
        )
        try:
            self.about = self._answer()
        except PeerFailed as problem:  # of its environment, not of the system
            self.__exit__(None, None, None)
            raise BenchmarkError(f"{name} does not start: {problem}") from None

    def ask(self, **question: Any) -> dict[str, Any]:
        """The answer to one question."""
        return self.ask_within(None, question)

    def ask_within(self, minutes: float | None, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to one question; a peer that needs longer is ended."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has ended; `_answer` says so
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._end()

        clock = threading.Timer((minutes or 0) * 60, stop)
        if minutes:
            clock.start()
        try:
            return self._answer()
        except PeerFailed:
            if late.is_set():
                raise PeerFailed(f"> {minutes:g} min") from None
            raise
        finally:
            clock.cancel()

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """The end of its input tells the script to go home; after an error it is not awaited."""
        if kind:
            self._end()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()
        self._said.close()

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._said.seek(0)
            last = self._said.read().decode(errors="replace").strip().rpartition("\n")[2]
            if code == -signal.SIGKILL or any(word in last for word in NO_MEMORY):
                raise PeerFailed(OOM)
            raise PeerFailed(f"{self._script.name} ended with code {code}: {last[-200:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer
