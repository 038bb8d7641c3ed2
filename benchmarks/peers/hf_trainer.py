"""A plain Hugging Face Trainer, asked by `speed_neural_training`; in the environment `trainer`.

Random batches, padded to the longest text of the batch; an encoder of which all layers learn, the
mean of its states, one linear layer over all labels, binary cross-entropy.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
import scipy.sparse as sp
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.runner import answer_questions


class Plain(nn.Module):
    """An encoder and one linear layer."""

    def __init__(self, folder: Path, labels: int) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, add_pooling_layer=False)
        self.output = nn.Linear(self.encoder.config.hidden_size, labels)

    def forward(self, input_ids: Any, attention_mask: Any, labels: Any) -> dict[str, Any]:
        """Loss and scores, as the Trainer wants them."""
        states = self.encoder(input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(2)
        scores = self.output((states * mask).sum(1) / mask.sum(1))
        loss = nn.functional.binary_cross_entropy_with_logits(scores, labels)
        return {"loss": loss, "logits": scores}


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Seconds of an epoch: those of two epochs without those of one."""
    torch.set_num_threads(task["threads"])
    rows, labels = load(task)
    train(rows[: task["batch"]], labels, 1, task)
    return {"seconds": -train(rows, labels, 1, task) + train(rows, labels, 2, task)}


def load(task: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Texts, tokenised beforehand, with their labels; and how many labels there are."""
    folder = Path(task["folder"])
    texts = json.loads((folder / "texts.json").read_text())[0]
    relevant = sp.load_npz(folder / "Y.npz").tocsr()
    tokenizer = AutoTokenizer.from_pretrained(folder / "encoder")
    ids = tokenizer(texts, truncation=True, max_length=task["tokens"])["input_ids"]
    rows = [{"input_ids": row, "labels": relevant[place].indices} for place, row in enumerate(ids)]
    return rows, relevant.shape[1]


def train(rows: list[dict[str, Any]], labels: int, epochs: int, task: dict[str, Any]) -> float:
    """Seconds of `Trainer.train` alone."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=task["batch"],
            seed=task["seed"],
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            logging_strategy="no",
            use_cpu=True,
            remove_unused_columns=False,
        )
        model = Plain(Path(task["folder"]) / "encoder", labels)
        trainer = Trainer(
            model,
            arguments,
            train_dataset=rows,
            data_collator=lambda batch: collated(batch, labels),
        )
        start = time.perf_counter()
        trainer.train()
        return time.perf_counter() - start


def collated(batch: list[dict[str, Any]], labels: int) -> dict[str, Any]:
    """Padded to the longest."""
    ids = [torch.tensor(row["input_ids"]) for row in batch]
    targets = torch.zeros(len(batch), labels)
    for place, row in enumerate(batch):
        targets[place, torch.as_tensor(row["labels"], dtype=torch.int64)] = 1
    padded = pad_sequence(ids, batch_first=True)  # MiniLM's padding is 0
    mask = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
    return {"input_ids": padded, "attention_mask": mask, "labels": targets}


if __name__ == "__main__":
    answer_questions(f"transformers {metadata.version('transformers')}", measure)
