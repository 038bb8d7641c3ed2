"""fastText: labels are the words of a line that start with `__label__`."""

from __future__ import annotations

import re
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.builder import Name
from xmtc.data.formats.jsonl import named_rows, open_for_writing

# As in fastText, only the white space of ASCII ends a word.
_LABEL = re.compile(r"(?<!\S)__label__(\S+)\s*", re.ASCII)
_SPACE = re.compile(r"\s", re.ASCII)


def is_fasttext(lines: list[str]) -> bool:
    """Whether these look like the first lines of such a file."""
    return any(_LABEL.match(line) for line in lines)


def fasttext_row(line: str) -> tuple[str, list[Name]]:
    """(text, labels); a line without a label is a text without labels."""
    if "__label__" not in line:
        return line.strip(), []
    return _LABEL.sub("", line).strip(), _LABEL.findall(line)


def write_fasttext(dataset: Dataset, path: str | Path, *, space: str | None = None) -> None:
    """One line per text. Line breaks become spaces; white space in labels becomes `space`."""
    with open_for_writing(Path(path)) as file:
        for text, names in named_rows(dataset):
            if _LABEL.search(text):
                raise DataError(
                    f"the text {text!r:.60} has a word that fastText takes for a label. "
                    "Remove the word, or write JSONL."
                )
            for name in names:
                if space is None and (not name or _SPACE.search(name)):
                    raise DataError(
                        f"fastText cannot hold the label {name!r}: a label is one word. "
                        'Pass space="_" to put underscores in.'
                    )
            words = [f"__label__{_SPACE.sub(space or '', name)}" for name in names]
            file.write(" ".join([*words, " ".join(text.splitlines())]).encode() + b"\n")
