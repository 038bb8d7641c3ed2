"""A peer at work in its own process: it is asked in lines of JSON and answers in lines of JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.kit import BenchmarkError
from benchmarks.peers.venv import VenvError, python_of


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
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.about = self._answer()

    def ask(self, **question: Any) -> dict[str, Any]:
        """The answer to one question."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._answer()

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
            self._process.kill()
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise BenchmarkError(f"{self._script.name} ended with code {code}, see above.")
        answer: dict[str, Any] = json.loads(line)
        return answer
