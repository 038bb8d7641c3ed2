"""What labels say, and whether they say anything: a code like "D012345" tells a reader nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from xmtc.core.labels import LabelSpace

MOST_CODES = 0.5  # a set of labels says nothing when more of them than this are codes
EVERYWHERE = 0.5  # a word that so many labels have tells none of them apart
TOKEN = re.compile(r"[^\W_]+")  # letters and digits of any script
RUN = re.compile(r"[^\W\d_]+")  # letters alone
SWITCH = re.compile(r"(?<=\d)(?=\D)|(?<=\D)(?=\d)")  # between letters and digits
LATIN = re.compile(r"[a-z]+\Z")
VOWEL = re.compile(r"[aeiouy]")


def label_texts(labels: LabelSpace, say: str = "text", underscores: str = "space") -> list[str]:
    """What each label says.

    say: its "text", where it has one, its "name", or "both".
    underscores: become a "space", or are left ("keep").
    """
    return [_spaced(_said(labels, label, say), underscores) for label in range(len(labels))]


def _said(labels: LabelSpace, label: int, say: str) -> str:
    name = labels.names[label]
    text = labels.text_of(label)
    if say == "name":
        return name
    return text if say == "text" or text == name else f"{name} {text}"


def _spaced(text: str, underscores: str) -> str:
    return text.replace("_", " ") if underscores == "space" else text


def are_codes(texts: Sequence[str]) -> bool:
    """Whether most of these texts hold no word of their own: numbers, identifiers, "label 17"."""
    words = [_words(text) for text in texts]
    counts = Counter(word for row in words for word in row)
    most = max(1.0, EVERYWHERE * len(texts))
    empty = sum(all(counts[word] > most for word in row) for row in words)
    return empty > MOST_CODES * len(texts)


def _words(text: str) -> set[str]:
    """Letters and digits that take turns, as in "B00EX4DLE0", are a code whatever they spell."""
    tokens = (token for token in TOKEN.findall(text.casefold()) if len(SWITCH.findall(token)) < 2)
    return {run for token in tokens for run in RUN.findall(token) if _is_word(run)}


def _is_word(run: str) -> bool:
    """Three letters with a vowel; of other scripts, whose words may be short, any letters."""
    latin = LATIN.match(run)
    return not latin or (len(run) >= 3 and VOWEL.search(run) is not None)
