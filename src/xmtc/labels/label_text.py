"""Label texts, and whether they describe labels: a code like "D012345" tells a reader nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from xmtc.core.labels import LabelSpace

MAX_CODES = 0.5  # labels are codes when a larger share of them than this are
MAX_SHARE = 0.5  # a word that a larger share of the labels has tells none of them apart
TOKEN = re.compile(r"[^\W_]+")  # letters and digits of any script
RUN = re.compile(r"[^\W\d_]+")  # letters alone
SWITCH = re.compile(r"(?<=\d)(?=\D)|(?<=\D)(?=\d)")  # between letters and digits
# Three letters with a vowel; of other scripts, whose words may be short, any letters.
WORD = re.compile(r"(?=.*[aeiouy])[a-z]{3,}\Z|(?![a-z]+\Z)")


def label_texts(labels: LabelSpace, say: str = "text", underscores: str = "space") -> list[str]:
    """The text of each label.

    say: its "text", where it has one, its "name", or "both".
    underscores: become a "space", or are left ("keep").
    """
    texts = []
    for label, name in enumerate(labels.names):
        text = name if say == "name" else labels.text_of(label)
        if say == "both" and text != name:
            text = f"{name} {text}"
        texts.append(text.replace("_", " ") if underscores == "space" else text)
    return texts


def are_codes(texts: Sequence[str]) -> bool:
    """Whether most of these texts hold no word of their own: numbers, identifiers, "label 17"."""
    words = [_words(text) for text in texts]
    counts = Counter(word for row in words for word in row)
    max_count = max(1.0, MAX_SHARE * len(texts))
    codes = sum(all(counts[word] > max_count for word in row) for row in words)
    return codes > MAX_CODES * len(texts)


def _words(text: str) -> set[str]:
    """Letters and digits that take turns, as in "B00EX4DLE0", are a code whatever they spell."""
    tokens = (token for token in TOKEN.findall(text.casefold()) if len(SWITCH.findall(token)) < 2)
    return {run for token in tokens for run in RUN.findall(token) if WORD.match(run)}
