"""TF-IDF: a text as a sparse row of weighted words; learned on training texts, then fixed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Bytes, Csr, Floats, Inputs, Ints, Longs, as_csr, csr
from xmtc.core.config import group, setting
from xmtc.core.errors import DataError, require
from xmtc.core.parts import Parts
from xmtc.core.progress import track
from xmtc.core.threads import in_threads, thread_count
from xmtc.kernels.count_terms import Analysis, count_terms, learn_terms
from xmtc.kernels.term_table import Table, merge_terms
from xmtc.kernels.tfidf_weights import renumber_columns, tfidf_weights
from xmtc.text import unicode_tables

R = TypeVar("R")

# CSR arrays of counts, texts per term, and the bytes of the terms
Learned: TypeAlias = tuple[Longs, Ints, Ints, Ints, Bytes, Longs]

BLOCK_CHARACTERS = 1 << 24  # of text per block: bounds the copy that the kernel reads
MAX_IDF = 100  # a bound for files from strangers; ln(all texts on earth) is far below
SMALL = 1 << 16  # characters that are not worth sharing among threads


@dataclass(frozen=True)
class PublishedTfidf:
    """What exists to compare with the features of others."""

    min_word_length: int = setting(2, "characters of a word at least; shorter words are dropped")
    sublinear_tf: bool = setting(True, "1 + ln(term frequency) instead of the frequency")
    norm: Literal["l2"] | None = setting("l2", "norm by which each text's row is divided")
    hash_buckets: int | None = setting(None, "columns of feature hashing (None: a vocabulary)")

    def __post_init__(self) -> None:
        length = self.min_word_length
        require(length >= 1, "min_word_length", length, "must be at least 1")
        _check_limit("hash_buckets", self.hash_buckets)


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
    min_df: int = setting(1, "minimum document frequency: rarer terms are dropped")
    max_df: float = setting(1.0, "maximum document frequency, as a share of the texts")
    max_features: int | None = setting(None, "size of the vocabulary at most, the most frequent")
    published: PublishedTfidf = group(PublishedTfidf)

    def __post_init__(self) -> None:
        require(
            len(self.ngram_range) == 2 and 1 <= self.ngram_range[0] <= self.ngram_range[1] <= 16,
            "ngram_range",
            self.ngram_range,
            "must be two numbers between 1 and 16, the smaller one first",
        )
        require(self.min_df >= 1, "min_df", self.min_df, "must be at least 1 text")
        require(0 < self.max_df <= 1, "max_df", self.max_df, "is a share of the texts, 0 to 1")
        _check_limit("max_features", self.max_features)

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings that do nothing in this combination, and why."""
        if self.analyzer == "char" and self.published.min_word_length != 2:
            yield "published.min_word_length", "analyzer=char reads words of any length"

    @property
    def analysis(self) -> Analysis:
        """The same in the terms of the kernel."""
        words = self.analyzer == "word"
        return Analysis(
            (unicode_tables.words if words else unicode_tables.visible)(self.lowercase),
            self.published.min_word_length if words else 1,
            self.ngram_range,
            not words,
        )


def _check_limit(name: str, value: int | None) -> None:
    fits = value is None or 1 <= value <= 1 << 30
    require(fits, name, value, "must be a positive number, or none for no limit")


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
        return Table(self.terms, self.term_starts)

    @cached_property
    def analysis(self) -> Analysis:
        """How texts are cut."""
        return self.config.analysis

    def term(self, column: int) -> str:
        """The word behind a column; hashed columns have none."""
        if self.config.published.hash_buckets:
            return f"#{column}"
        begin, end = self.term_starts[column : column + 2]
        return self.terms[begin:end].tobytes().decode("utf-8", "replace")

    def encode(self, inputs: Inputs) -> Csr:
        """(texts, features); feature rows of the right width pass through."""
        if sp.issparse(inputs):
            self._check_own(inputs)
            return checked_features(inputs, self.feature_count)
        buckets = self.config.published.hash_buckets or 0

        def count(block: Sequence[str]) -> tuple[Longs, Ints, Ints]:
            text, starts = _as_bytes(block, self.config.lowercase)
            counted = count_terms(text, starts, self.analysis, buckets, self.table)
            return renumber_columns(*counted, self.columns)

        return self._weighted(_each_block("reading texts", count, inputs))

    def _check_own(self, features: sp.sparray | sp.spmatrix) -> None:
        if features.shape[1] != self.feature_count:
            raise DataError(
                "this model reads texts; here are features only, and not its own: they have "
                f"{features.shape[1]:,} columns, its vocabulary has {self.feature_count:,} terms. "
                "Give texts, or train a model on features."
            )

    def _weighted(self, counted: list[tuple[Longs, Ints, Ints]]) -> Csr:
        how = self.config.published

        def weigh(block: tuple[Longs, Ints, Ints]) -> Floats:
            return tfidf_weights(*block, self.idf, how.sublinear_tf, how.norm is not None)

        weights = in_threads(weigh, counted)
        return _stacked(counted, weights, self.feature_count)

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """What must be saved, besides the settings."""
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
            encoder.table  # noqa: B018  (built now, so that a twin is found now)
        except ValueError as error:
            raise DataError(f"the vocabulary cannot be used: {error}") from None
        return encoder


def learn(texts: Sequence[str], config: TfidfConfig) -> tuple[Tfidf, Csr]:
    """The encoder for these texts, and the texts encoded: both from one reading."""
    analysis = config.analysis
    buckets = config.published.hash_buckets or 0

    def count(block: Sequence[str]) -> Learned:
        text, starts = _as_bytes(block, config.lowercase)
        return learn_terms(text, starts, analysis, buckets)

    counted = _each_block("learning the vocabulary", count, texts)
    if buckets:
        blob = np.empty(0, np.uint8)
        starts = np.zeros(1, np.int64)
        moved = [np.arange(buckets, dtype=np.int32)] * len(counted)
    else:
        blob, starts, moved = merge_terms([(block[4], block[5]) for block in counted])
    known = buckets or len(starts) - 1
    kept, in_texts = _select(counted, moved, known, config)
    column_of = np.full(known, -1, np.int32)
    column_of[kept] = np.arange(len(kept), dtype=np.int32)
    idf = (np.log((1 + len(texts)) / (1 + in_texts)) + 1).astype(np.float32)
    if buckets:
        encoder = Tfidf(config, idf, blob, starts, column_of)
    else:
        columns = np.arange(len(kept), dtype=np.int32)
        encoder = Tfidf(config, idf, *_subset(blob, starts, kept), columns)

    def renumber(block: int) -> tuple[Longs, Ints, Ints]:
        indptr, terms, counts = counted[block][:3]
        return renumber_columns(indptr, terms, counts, column_of[moved[block]])

    return encoder, encoder._weighted(in_threads(renumber, range(len(counted))))


def _select(
    counted: list[Learned],
    moved: list[Ints],
    terms: int,
    config: TfidfConfig,
) -> tuple[Longs, Longs]:
    """The terms to keep, most texts first, and in how many texts each occurs.

    Terms frequent in texts get small numbers, so that their weights share cache lines; among
    equals the one seen first comes first, which no number of threads changes.
    """
    in_texts = np.zeros(terms, np.int64)
    in_all = np.zeros(terms, np.int64)
    for (_, ids, counts, texts_with, *_), ids_to_all in zip(counted, moved, strict=True):
        in_texts[ids_to_all] += texts_with
        if config.max_features is not None:
            in_all[ids_to_all] += np.bincount(ids, counts, len(ids_to_all)).astype(np.int64)
    rows = sum(len(indptr) - 1 for indptr, *_ in counted)
    usual = (in_texts >= config.min_df) & (in_texts <= config.max_df * rows) & (in_texts > 0)
    kept = np.flatnonzero(usual)
    if config.max_features is not None:
        kept = np.sort(kept[np.argsort(-in_all[kept], kind="stable")[: config.max_features]])
    kept = kept[np.argsort(-in_texts[kept], kind="stable")]
    return kept, in_texts[kept]


def _subset(blob: Bytes, starts: Longs, kept: Longs) -> tuple[Bytes, Longs]:
    """The bytes of the kept terms in their new order."""
    sizes = starts[kept + 1] - starts[kept]
    new_starts = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(sizes, out=new_starts[1:])
    within = np.arange(new_starts[-1]) - np.repeat(new_starts[:-1], sizes)
    return blob[np.repeat(starts[kept], sizes) + within], new_starts


def _as_bytes(texts: Sequence[str], lowercase: bool) -> tuple[Bytes, Longs]:
    """All texts as one stretch of UTF-8, and where each begins."""
    clean = map(unicode_tables.regular, texts) if lowercase else texts
    encoded = [text.encode("utf-8", "surrogatepass") for text in clean]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=starts[1:])
    return np.frombuffer(bytearray(b"").join(encoded), np.uint8), starts


def _each_block(title: str, work: Callable[[Sequence[str]], R], texts: Sequence[str]) -> list[R]:
    """`work` of consecutive blocks of texts, in threads, behind a progress bar."""
    with track(title, len(texts)) as advance:

        def work_and_tell(block: tuple[int, int]) -> R:
            result = work(texts[block[0] : block[1]])
            advance(block[1] - block[0])
            return result

        return in_threads(work_and_tell, _text_blocks(texts))


def _text_blocks(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Consecutive texts that together have about as many characters as every other block."""
    if sum(map(len, texts)) <= SMALL:
        return [(0, len(texts))] if texts else []
    ends = np.cumsum([len(text) for text in texts])
    pieces = max(2 * thread_count(), int(ends[-1]) // BLOCK_CHARACTERS)
    cuts = np.searchsorted(ends, np.arange(1, pieces) * (ends[-1] / pieces))
    edges = np.unique(np.concatenate([[0], cuts, [len(texts)]])).tolist()
    return list(itertools.pairwise(edges))


def _stacked(counted: list[tuple[Longs, Ints, Ints]], weights: list[Floats], features: int) -> Csr:
    """Blocks of rows as one matrix."""
    if not counted:
        return csr(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64), features)
    if len(counted) == 1:
        matrix = csr(weights[0], counted[0][1], counted[0][0], features)
    else:
        row_sizes = np.concatenate([np.diff(indptr) for indptr, *_ in counted])
        indptr = np.concatenate([[0], np.cumsum(row_sizes)])
        indices = np.concatenate([columns for _, columns, _ in counted])
        matrix = csr(np.concatenate(weights), indices, indptr, features)
    matrix.has_canonical_format = True
    return matrix


def checked_features(inputs: sp.sparray | sp.spmatrix, wanted: int) -> Csr:
    """The features as wide as the model knows them; files without a header may be narrower."""
    features = inputs if _is_ready(inputs) else as_csr(inputs)
    if features.shape[1] > wanted:
        raise DataError(
            f"the features have {features.shape[1]} columns, the model was trained with {wanted}. "
            "Give features of the same kind as in training."
        )
    if not np.isfinite(features.data).all():
        raise DataError("the features hold NaN or infinity. Replace them by numbers.")
    if features.shape[1] == wanted:
        return features
    return csr(features.data, features.indices, features.indptr, wanted)


def _is_ready(inputs: sp.sparray | sp.spmatrix) -> bool:
    """Whether the matrix can be read as it is: SciPy takes a tenth of a millisecond to wrap one."""
    return (
        isinstance(inputs, sp.csr_array)
        and inputs.dtype == np.float32
        and inputs.indices.dtype == np.int32
        and bool(inputs.has_canonical_format)
    )
