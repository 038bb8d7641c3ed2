"""PECOS's XR-Transformer, asked by `quality_results`; in the environment of `pecos`.

A question names a folder with X.npz, Y.npz, T.npz, texts.json and the encoder, and the minutes
that training may take: a probe measures how long a step and the rest take, and the steps that fit
are shared among the levels of the label tree as in the authors' published settings.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from pecos.xmc.xtransformer.matcher import TransformerMatcher
from pecos.xmc.xtransformer.model import XTransformer
from pecos.xmc.xtransformer.module import MLProblemWithText

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.limits import megabytes_in, peak, reset_peak, timed
from benchmarks.peers.runner import answer_questions, latency

BATCH = 32
PROBE_TEXTS = 320
PROBE_STEPS = (3, 9)
LEAST_STEPS = 50  # per level, even if that takes longer than allowed
LEAST_SHARE = 0.5  # of the minutes is for steps, even if all else takes more than the other half
SHARES = (600, 800, 1200)  # steps of the levels in the published settings; deeper: as the last


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """All figures but the quality of the ranking, which goes to ranking.npz."""
    torch.set_num_threads(task["threads"])
    torch.manual_seed(task["seed"])
    np.random.seed(task["seed"])
    texts, asked, features, relevant, rows = load(task)
    params = settings(task)
    levels, embedded, plan = planned(task, texts, features, relevant, params)
    params = settings(task, levels, inherit=not embedded)
    reset_peak()
    model, fit = timed(lambda: train(texts, features, relevant, params))
    memory = peak()
    with tempfile.TemporaryDirectory(dir=task["folder"]) as place:
        model.save(place)
        size = megabytes_in(Path(place))
        model = XTransformer.load(place, is_predict_only=True)
    rank(model, asked[:BATCH], rows[:BATCH], task)
    found, cost = timed(lambda: rank(model, asked, rows, task).tocsr())
    ranking = Path(task["folder"]) / "ranking.npz"
    np.savez(ranking, indptr=found.indptr, indices=found.indices, data=found.data)
    pairs = [(asked[row], rows[row : row + 1]) for row in range(min(1000, len(asked)))]
    single = latency(lambda pair: rank(model, [pair[0]], pair[1], task), pairs)
    return {
        "train_texts": len(texts),
        "labels": relevant.shape[1],
        "train_seconds": fit.seconds,
        "train_cpu_seconds": fit.cpu_seconds,
        "peak_mb": memory,
        "model_mb": size,
        "rank_seconds": cost.seconds,
        **single,
        "steps": sum(levels),
        "levels": levels,
        "plan": plan,
        "inherited_heads": not embedded,
        "epochs": round(sum(levels) * BATCH / len(texts), 2),
    }


def load(task: dict[str, Any]) -> Any:
    """Training texts, texts to rank, and the three matrices."""
    folder = Path(task["folder"])
    texts, asked = json.loads((folder / "texts.json").read_text())
    matrices = [sp.load_npz(folder / f"{name}.npz").tocsr().astype(np.float32) for name in "XYT"]
    features, relevant, rows = map(sp.csr_matrix, matrices)
    return texts, asked, features, relevant, rows


def settings(task: dict[str, Any], levels: list[int] | None = None, inherit: bool = False) -> Any:
    """(train params, pred params): its defaults."""
    train = XTransformer.TrainParams.from_dict({}, recursive=True)
    ranking = XTransformer.PredParams.from_dict({}, recursive=True)
    matcher = train.matcher_params_chain
    reader = ranking.matcher_params_chain
    matcher.model_shortcut = str(Path(task["folder"]) / "encoder")
    matcher.batch_size = BATCH
    matcher.batch_gen_workers = task["threads"]
    matcher.learning_rate = task["rate"]
    matcher.save_steps = 10**9  # the last state only
    reader.truncate_length = task["tokens"]
    for indexer in (train.preliminary_indexer_params, train.refined_indexer_params):
        indexer.seed = task["seed"]
        indexer.threads = task["threads"]
    if inherit:
        matcher.bootstrap_method = "inherit"
    if levels:
        values = matcher.to_dict()
        train.matcher_params_chain = [
            type(matcher).from_dict({**values, "max_steps": steps}) for steps in levels
        ]
        ranking.matcher_params_chain = [reader] * len(levels)
    return train, ranking


def train(texts: list[str], features: Any, relevant: Any, params: Any) -> Any:
    """From texts to the finished model."""
    problem = MLProblemWithText(texts, relevant, X_feat=features)
    return XTransformer.train(problem, train_params=params[0], pred_params=params[1])


def rank(model: Any, texts: list[str], rows: Any, task: dict[str, Any]) -> Any:
    """Without loader processes, which only cost time where texts are in memory."""
    how = {"only_topk": task["k"], "threads": task["threads"], "batch_size": BATCH}
    return model.predict(texts, X_feat=rows, batch_gen_workers=0, **how)


def planned(
    task: dict[str, Any], texts: list[str], features: Any, relevant: Any, params: Any
) -> tuple[list[int], bool, dict[str, float]]:
    """Steps of each level, whether there is time to embed all texts after each, and by what
    seconds both were chosen."""
    start = time.perf_counter()
    vectors = LabelEmbeddingFactory.create(relevant, features, method="pifa")
    tree = Indexer.gen(vectors, train_params=params[0].preliminary_indexer_params)
    depth = sum(level.shape[0] <= params[0].max_match_clusters for level in tree)
    XLinearModel.train(features, relevant, C=tree, threads=task["threads"])
    linear = time.perf_counter() - start
    step, text = _pace(task, texts[:PROBE_TEXTS], PROBE_STEPS)
    reading = len(texts) * text
    linear_heads = linear + depth * reading <= LEAST_SHARE * task["minutes"] * 60
    embedding = reading * (depth if linear_heads else 1)
    left = max(task["minutes"] * 60 - linear - embedding, LEAST_SHARE * task["minutes"] * 60)
    shares = [SHARES[min(level, len(SHARES) - 1)] for level in range(depth)]
    steps = [max(LEAST_STEPS, int(left / step * share / sum(shares))) for share in shares]
    plan = {"linear_seconds": linear, "embedding_seconds": embedding, "step_seconds": step}
    return steps, linear_heads, plan


def pace(task: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a step of the matcher alone."""
    torch.set_num_threads(task["threads"])
    texts = load(task)[0]
    step, _ = _pace(task, texts, task["steps"])
    return {"batch": BATCH, "step_seconds": step}


def _pace(task: dict[str, Any], texts: list[str], asked: Sequence[int]) -> tuple[float, float]:
    """Seconds of a training step over 16 clusters, and of reading one text.

    A step: the difference between a longer and a shorter training, without what both begin with.
    """
    few = sp.csr_matrix(np.eye(16, dtype=np.float32)[np.arange(len(texts)) % 16])
    root = sp.csc_matrix(np.ones((few.shape[1], 1), dtype=np.float32))
    seconds = []
    for steps in (asked[0], *asked):  # the first is for warming up
        train, ranking = settings(task, [steps])
        start = time.perf_counter()
        matcher = TransformerMatcher.train(
            MLProblemWithText(texts, few, C=root),
            train_params=train.matcher_params_chain[0],
            pred_params=ranking.matcher_params_chain[0],
        )
        seconds.append(time.perf_counter() - start)
    step = (seconds[2] - seconds[1]) / (asked[1] - asked[0])
    _, reading = timed(
        lambda: matcher.predict(
            texts, batch_size=BATCH, only_embeddings=True, batch_gen_workers=task["threads"]
        )
    )
    text = reading.seconds / len(texts)
    return max(step, BATCH * text), text  # a step at least reads its texts


if __name__ == "__main__":
    answer_questions(
        f"libpecos {metadata.version('libpecos')}",
        lambda task: pace(task) if task["mode"] == "pace" else measure(task),
    )
