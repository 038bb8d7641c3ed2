"""TF-IDF: a text as a sparse row of weighted terms, in the vocabulary of the training texts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import (
    Array,
    Bytes,
    Csr,
    Floats,
    Inputs,
    Ints,
    Longs,
    Matrix,
    as_csr,
    csr,
    stacked_rows,
    starts_of,
)
from xmtc.core.config import check_bounds, group, setting
from xmtc.core.errors import DataError, require
from xmtc.core.parts import Parts
from xmtc.core.progress import track
from xmtc.core.threads import in_threads, thread_count
from xmtc.kernels.count_terms import Analysis, TermCounts, count_terms, term_counts
from xmtc.kernels.term_table import Table, empty_table, merge_terms, table_of
from xmtc.kernels.tfidf_weights import tfidf_rows
from xmtc.text import unicode_tables

BLOCK_CHARACTERS = 1 << 24  # of text per block: bounds the copy that the kernel reads
MAX_IDF = 100  # bound for untrusted files; ln(all texts on earth) is far below
SMALL = 1 << 16  # characters that are not worth sharing among threads
MAX_COLUMNS = 1 << 30


@dataclass(frozen=True)
class PublishedTfidf:
    """What exists to compare with the features of others."""

    min_word_length: int = setting(2, "minimum characters of a word", low=1)
    sublinear_tf: bool = setting(True, "1 + ln(term frequency) instead of the frequency")
    norm: Literal["l2"] | None = setting("l2", "norm that scales each text's row")
    hash_buckets: int | None = setting(
        None, "columns of feature hashing (None: a vocabulary)", low=1, high=MAX_COLUMNS
    )

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class TfidfConfig:
    """TF-IDF, with the names and the words of scikit-learn's TfidfVectorizer."""

    analyzer: Literal["word", "char"] = setting(
        "word", "n-grams of words, or of characters inside words: for noisy texts"
    )
    ngram_range: tuple[int, int] = setting(
        (1, 1), "shortest and longest n-gram; 1,2 adds word pairs: better on short texts, larger"
    )
    lowercase: bool = setting(True, "lower-case the texts")
    min_df: int = setting(1, "minimum document frequency: rarer terms are dropped", low=1)
    max_df: float = setting(
        1.0, "maximum document frequency, as a fraction of the texts", above=0, high=1
    )
    max_features: int | None = setting(
        None, "maximum size of the vocabulary, by frequency", low=1, high=MAX_COLUMNS
    )
    published: PublishedTfidf = group(PublishedTfidf)

    def __post_init__(self) -> None:
        require(
            len(self.ngram_range) == 2 and 1 <= self.ngram_range[0] <= self.ngram_range[1] <= 16,
            "ngram_range",
            self.ngram_range,
            "must be two numbers between 1 and 16, the smaller one first",
        )
        check_bounds(self)

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings that do nothing in this combination, and why."""
        if self.analyzer == "char" and self.published.min_word_length != 2:
            yield "published.min_word_length", "analyzer=char reads words of any length"

    @cached_property
    def analysis(self) -> Analysis:
        """How the kernels cut texts into terms."""
        buckets = self.published.hash_buckets or 0
        fold = unicode_tables.folded(self.analyzer == "word", self.lowercase)
        if self.analyzer == "word":
            length = self.published.min_word_length
            return Analysis(fold, length, *self.ngram_range, False, buckets)
        return Analysis(fold, 1, *self.ngram_range, True, buckets)


@dataclass(frozen=True)
class Tfidf:
    """A fixed vocabulary with its weights: the encoder that `learn` returns."""

    config: TfidfConfig
    idf: Floats  # (features,)
    terms: Bytes  # the UTF-8 of all terms in a row, by column; empty with hash buckets
    term_starts: Longs  # (features + 1,) where each term begins
    columns: Ints  # (terms or hash buckets,) the column of each, -1 for none

    @property
    def feature_count(self) -> int:
        """How many columns a row has."""
        return len(self.idf)

    @cached_property
    def table(self) -> Table:
        """The vocabulary, ready for look-up."""
        return table_of(self.terms, self.term_starts)

    def term(self, column: int) -> str:
        """The word behind a column; hashed columns have none."""
        if self.config.published.hash_buckets:
            return f"#{column}"
        begin, end = self.term_starts[column : column + 2]
        return self.terms[begin:end].tobytes().decode("utf-8", "replace")

    def encode(self, inputs: Inputs) -> Csr:
        """(texts, features); feature rows of the right width pass through."""
        if sp.issparse(inputs):
            features: Any = inputs
            if features.shape[1] != len(self.idf):
                raise DataError(
                    "expected texts, got features that are not those of this model: "
                    f"{features.shape[1]:,} columns for a vocabulary of {len(self.idf):,} terms. "
                    "Give texts, or train a model on features."
                )
            return checked_features(features, len(self.idf))
        config = self.config
        sublinear = config.published.sublinear_tf
        unit = config.published.norm is not None
        with track("reading texts", len(inputs)) as advance:

            def read(texts: Sequence[str]) -> Matrix:
                text, starts = unicode_tables.utf8(texts, config.lowercase)
                counted = count_terms(text, starts, config.analysis, self.table)
                rows = tfidf_rows(*counted, self.columns, self.idf, sublinear, unit)
                advance(len(texts))
                return rows

            return stacked_rows(in_threads(read, _text_blocks(inputs)), len(self.idf))

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """What must be saved, apart from the settings."""
        names = ("idf", "terms", "term_starts", "columns")
        return {f"{prefix}.{name}": getattr(self, name) for name in names}

    @staticmethod
    def from_parts(parts: Parts, prefix: str, config: TfidfConfig) -> Tfidf:
        """The encoder as it was saved, checked."""
        buckets = config.published.hash_buckets
        idf = parts.array(f"{prefix}.idf", np.float32, (None,))
        terms = parts.array(f"{prefix}.terms", np.uint8, (None,))
        starts = parts.offsets(f"{prefix}.term_starts", len(terms))
        columns = parts.array(f"{prefix}.columns", np.int32, (buckets or len(idf),))
        named = 0 if buckets else len(idf)
        if len(starts) != named + 1 or (np.diff(starts) < 1).any():
            raise DataError(f"the vocabulary does not fit its {len(idf)} weights")
        if len(idf) and not 0 < idf.min() <= idf.max() <= MAX_IDF:
            raise DataError(f"TF-IDF weights lie between 0 and {MAX_IDF}, these do not")
        used = columns[columns >= 0]
        if columns.min(initial=0) < -1 or used.max(initial=-1) >= len(idf):
            raise DataError(f"a term points beyond the {len(idf)} columns")
        if (np.bincount(used, minlength=len(idf)) != 1).any():
            raise DataError("each column must belong to one term")
        encoder = Tfidf(config, idf, terms, starts, columns)
        try:
            encoder.table  # noqa: B018  (built now, so that a term that occurs twice is found now)
        except ValueError as error:
            raise DataError(f"the vocabulary cannot be used: {error}") from None
        return encoder


def learn(texts: Sequence[str], config: TfidfConfig) -> tuple[Tfidf, Csr]:
    """The encoder for these texts, and the texts encoded: both from one reading."""
    analysis = config.analysis
    buckets = config.published.hash_buckets or 0
    with track("learning the vocabulary", len(texts)) as advance:

        def count(block: Sequence[str]) -> TermCounts:
            text, starts = unicode_tables.utf8(block, config.lowercase)
            counts = term_counts(text, starts, analysis, empty_table(), True)
            advance(len(block))
            return counts

        counted = in_threads(count, _text_blocks(texts))
    blob, starts, ids = merge_terms([(block.blob, block.starts) for block in counted])
    if buckets:
        ids = [np.arange(buckets, dtype=np.int32)] * len(counted)
    terms = buckets or len(starts) - 1
    selected, in_texts = _select(counted, ids, terms, config)
    columns = np.arange(len(selected), dtype=np.int32)
    column_of = np.full(terms, -1, np.int32)
    column_of[selected] = columns
    if buckets:
        columns = column_of
    else:  # the bytes of the selected terms, in their new order
        sizes = starts[selected + 1] - starts[selected]
        new_starts = starts_of(sizes)
        within = np.arange(new_starts[-1]) - np.repeat(new_starts[:-1], sizes)
        blob = blob[np.repeat(starts[selected], sizes) + within]
        starts = new_starts
    idf = (np.log((1 + len(texts)) / (1 + in_texts)) + 1).astype(np.float32)
    sublinear = config.published.sublinear_tf
    unit = config.published.norm is not None
    rows = in_threads(
        lambda place: tfidf_rows(*counted[place][:3], column_of[ids[place]], idf, sublinear, unit),
        range(len(counted)),
    )
    return Tfidf(config, idf, blob, starts, columns), stacked_rows(rows, len(idf))


def _select(
    counted: list[TermCounts], ids: list[Ints], terms: int, config: TfidfConfig
) -> tuple[Longs, Longs]:
    """The terms of the vocabulary, most texts first, and in how many texts each occurs.

    ids: for each block, the numbers of its terms among all. Terms frequent in texts get small
    numbers, so that their weights share cache lines; among equals the one seen first comes first,
    which no number of threads changes.
    """
    in_texts = np.zeros(terms, np.int64)
    in_all = np.zeros(terms, np.int64)
    for block, block_ids in zip(counted, ids, strict=True):
        in_texts[block_ids] += block.in_texts
        if config.max_features is not None:
            frequencies = np.bincount(block.terms, block.counts, len(block_ids))
            in_all[block_ids] += frequencies.astype(np.int64)
    texts = sum(len(block.indptr) - 1 for block in counted)
    usual = (in_texts >= config.min_df) & (in_texts <= config.max_df * texts) & (in_texts > 0)
    selected = np.flatnonzero(usual)
    if config.max_features is not None:
        by_frequency = np.argsort(-in_all[selected], kind="stable")
        selected = np.sort(selected[by_frequency[: config.max_features]])
    selected = selected[np.argsort(-in_texts[selected], kind="stable")]
    return selected, in_texts[selected]


def _text_blocks(texts: Sequence[str]) -> list[Sequence[str]]:
    """Consecutive texts that together have about as many characters as every other block."""
    if sum(map(len, texts)) <= SMALL:
        return [texts] if len(texts) else []
    ends = np.cumsum([len(text) for text in texts])
    pieces = max(2 * thread_count(), int(ends[-1]) // BLOCK_CHARACTERS)
    cuts = np.searchsorted(ends, np.arange(1, pieces) * (ends[-1] / pieces))
    edges = np.unique(np.concatenate([[0], cuts, [len(texts)]])).tolist()
    return [texts[begin:end] for begin, end in itertools.pairwise(edges)]


def checked_features(inputs: sp.sparray | sp.spmatrix, columns: int) -> Csr:
    """The features as wide as the model knows them; files without a header may be narrower."""
    ready = (  # SciPy takes a tenth of a millisecond to wrap a matrix
        isinstance(inputs, sp.csr_array)
        and inputs.dtype == np.float32
        and inputs.indices.dtype == np.int32
        and inputs.has_canonical_format
    )
    features = inputs if ready else as_csr(inputs)
    if features.shape[1] > columns:
        raise DataError(
            f"expected features of {columns} columns, as in training, got {features.shape[1]}. "
            "Give features of the same kind as in training."
        )
    if not np.isfinite(features.data).all():
        raise DataError("the features contain NaN or infinity. Replace them by numbers.")
    if features.shape[1] == columns:
        return features
    return csr(features.data, features.indices, features.indptr, columns)
