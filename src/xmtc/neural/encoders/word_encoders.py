"""Encoders learned from the texts alone: a word's vector, then a BiLSTM or a CNN over the words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from xmtc.neural.batches.token_layout import Batch, TokenLayout

PAD = 0
UNKNOWN = 1
START = 2
NUMBER = r"\d+([.,]\d+)*"
LOOK = 350  # size of what xttention decides by where to look
WINDOWS = (2, 4, 8)  # of xml_cnn: words seen at once
XML_CNN_SPREAD = 0.1  # of its word vectors at first; with 1, as in others, it learns far worse
SPECIAL = ["[pad]", "[unknown]", "[start]"]
# An empty text still has its start, so that it too has a vector.
LAYOUT = TokenLayout(before=(START,), before_types=(0,), pad=PAD)


def word_tokenizer(texts: Sequence[str], words: int, numbers_alike: bool = False) -> Any:
    """Lower-cased words and signs of any script, the most frequent ones of these texts.

    numbers_alike: every number is the word 0, so that their variety fills no vocabulary.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordLevel(unk_token=SPECIAL[UNKNOWN]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    if numbers_alike:
        numbers = normalizers.Replace(Regex(NUMBER), "0")
        tokenizer.normalizer = normalizers.Sequence([tokenizer.normalizer, numbers])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(
        vocab_size=words, special_tokens=SPECIAL, show_progress=False
    )
    clean = (text.encode("utf-8", "replace").decode() for text in texts)
    tokenizer.train_from_iterator(clean, trainer)
    return tokenizer


class BiLstm(nn.Module):
    """Each word sees all words before and after it."""

    def __init__(self, words: int, width: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.width = 2 * width

    def forward(self, batch: Batch, layers: int) -> tuple[Tensor, ...]:
        """(pieces, length, width) as the one and last layer."""
        words = self.dropout(self.words(batch.ids))
        weights: Any = self.lstm._flat_weights  # of reading onwards, then of reading backwards
        turned = _turn(batch.mask)
        onwards = self._read(words, weights[:4])
        backwards = self._read(_taken(words, turned), weights[4:])
        states = torch.cat([onwards, _taken(backwards, turned)], dim=2)
        return (states * batch.mask.unsqueeze(2),)

    def _read(self, words: Tensor, weights: list[Tensor]) -> Tensor:
        """One direction. Not torch's packed sequences: each word's step of their way back fills
        an array of the size of all."""
        start = words.new_zeros(1, len(words), self.lstm.hidden_size)
        states, *_ = torch.lstm(
            words, (start, start), weights, True, 1, 0.0, self.training, False, True
        )
        return states


def _turn(mask: Tensor) -> Tensor:
    """(pieces, length) where each word is when its text is read from its end; padding stays."""
    place = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask > 0, mask.sum(1, keepdim=True) - 1 - place, place)


def _taken(states: Tensor, places: Tensor) -> Tensor:
    return states.gather(1, places.unsqueeze(2).expand_as(states))


class Xttention(nn.Module):
    """X-BERT's other matcher: a BiLSTM, then `views` weighted sums of its states, each with weights
    of its own over the words; a hidden layer makes one vector of them."""

    def __init__(
        self, words: int, width: int, dropout: float, views: int = 30, hidden: int = 2000
    ) -> None:
        super().__init__()
        self.reader = BiLstm(words, width, dropout)
        self.look = nn.Linear(self.reader.width, LOOK)
        self.weigh = nn.Linear(LOOK, views)
        self.hidden = nn.Linear(views * self.reader.width, hidden)
        self.width = hidden

    @property
    def words(self) -> nn.Embedding:
        """The words' vectors."""
        return self.reader.words

    def pooled(self, batch: Batch) -> Tensor:
        """(pieces, hidden); words beyond a text's end have no weight."""
        (states,) = self.reader(batch, 1)
        weights = self.weigh(torch.tanh(self.look(states)))
        beyond = (batch.mask == 0).unsqueeze(2)
        weights = weights.masked_fill(beyond, float("-inf")).softmax(dim=1)
        sums = weights.transpose(1, 2) @ states  # (pieces, views, width)
        return torch.relu(self.hidden(sums.flatten(1)))


class Cnn(nn.Module):
    """Each word sees its neighbours, through windows of three sizes."""

    def __init__(self, words: int, width: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.windows = nn.ModuleList(
            nn.Conv1d(width, width, size, padding=size // 2) for size in (1, 3, 5)
        )
        self.width = 3 * width

    def forward(self, batch: Batch, layers: int) -> tuple[Tensor, ...]:
        """(pieces, length, width) as the one and last layer."""
        words = self.dropout(self.words(batch.ids)).transpose(1, 2)
        seen = [torch.relu(window(words)) for window in self.windows]
        return (torch.cat(seen, dim=1).transpose(1, 2),)


class DynamicPoolingCnn(nn.Module):
    """XML-CNN: windows over the words; of each part of the text the strongest sign of each filter
    (dynamic max pooling), then a hidden layer. Parts are parts of the text's own length."""

    def __init__(
        self,
        words: int,
        width: int,
        dropout: float,
        filters: int,
        pools: int,
        hidden: int,
        stride: int,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.windows = nn.ModuleList(nn.Conv1d(width, filters, size, stride) for size in WINDOWS)
        self.hidden = nn.Linear(len(WINDOWS) * filters * pools, hidden)
        self.pools = pools
        self.stride = stride
        self.width = hidden

    def pooled(self, batch: Batch) -> Tensor:
        """(pieces, hidden)"""
        words = self.dropout(self.words(batch.ids)).transpose(1, 2)
        places = -(-batch.ids.shape[1] // self.stride)
        # What lies beyond a text's end is 0, in a batch as when it is read alone.
        wide = nn.functional.pad(words, (0, max(WINDOWS) + self.stride))
        seen = [torch.relu(window(wide))[:, :, :places] for window in self.windows]
        strongest = self._strongest(torch.cat(seen, dim=1), -(-batch.mask.sum(1) // self.stride))
        return torch.relu(self.hidden(strongest.flatten(1)))

    def _strongest(self, seen: Tensor, lengths: Tensor) -> Tensor:
        """(pieces, filters, places) -> (pieces, filters, pools); a part without places gets 0."""
        place = torch.arange(seen.shape[2], device=seen.device)
        real = place < lengths.unsqueeze(1)
        part = (place * self.pools // lengths.unsqueeze(1)).clamp(max=self.pools - 1)
        none = seen.new_zeros(*seen.shape[:2], self.pools)
        at = part.unsqueeze(1).expand(-1, seen.shape[1], -1)
        return none.scatter_reduce(2, at, seen * real.unsqueeze(1), "amax")
