"""A peer in a process of its own: questions and answers are lines of JSON."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.experiment import BenchmarkError
from benchmarks.limits import OOM, end_with_parent
from benchmarks.peers.venv import VenvError, python_of

NO_MEMORY = ("MemoryError", "bad_alloc", "Cannot allocate memory")


class PeerFailed(BenchmarkError):
    """Why a peer gave no answer."""


class Peer:
    """`with Peer("pecos", "pecos_tfidf.py", "texts.txt") as pecos: pecos.ask(threads=2)`

    The script stays alive between questions. Its first line gives its versions, then it gives one
    answer per question. It ends with the process that asks, which has the limit of time.
    """

    def __init__(self, name: str, script: str, *arguments: str) -> None:
        self._script = Path(__file__).resolve().parent / script
        try:
            # Isolated (-I): nothing of our own environment or of this folder is imported.
            command = [str(python_of(name)), "-I", str(self._script), *arguments]
        except VenvError as problem:
            raise BenchmarkError(str(problem)) from None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - no other thread runs here
        )
        try:
            self.about = self._answer()
        except PeerFailed as problem:  # of its environment, not of the system
            self.__exit__(None)
            raise BenchmarkError(f"{name} does not start: {problem}") from None

    def ask(self, **question: Any) -> dict[str, Any]:
        """The answer to one question."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has ended; `_answer` says so
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        return self._answer()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """The end of its input ends the script; after an error it is not awaited."""
        if kind:
            self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()
        self._errors.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        if code == -signal.SIGKILL or any(word in last for word in NO_MEMORY):
            raise PeerFailed(OOM)
        raise PeerFailed(f"{self._script.name} ended with code {code}: {last[-200:]}")
