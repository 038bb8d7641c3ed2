"""lightxml, linear_tree and both together, beside PECOS XR-Transformer given the same minutes."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from benchmarks.kit import Claim, Measurement, Options, dataset, with_texts
from benchmarks.peers.ask import Peer, PeerFailed
from benchmarks.process import alone
from benchmarks.processor import PRECISION
from benchmarks.quality import _cells
from benchmarks.quality._cells import Job
from benchmarks.quality._figures import quality_of, saved_ranking
from benchmarks.record import source

if TYPE_CHECKING:
    from xmtc import Dataset, Model

TREE = "linear_tree"
NEURAL = "lightxml"
INT8 = "lightxml, int8"
AVERAGE = "average of both"
LEARNED = "learned combination"
PEER = "PECOS XR-Transformer"
PEER_PUBLISHED = "PECOS XR-Transformer, published settings"
SYSTEMS = {
    "linear_tree": TREE,
    "lightxml": NEURAL,
    "int8": INT8,
    "average": AVERAGE,
    "learned": LEARNED,
    "xrt": PEER,
    "xrt-published": PEER_PUBLISHED,
}
SETTINGS: dict[str, Any] = {
    "data": ["eurlex4k-proxy", "debian-deps"],
    "systems": list(SYSTEMS),
    "validation_texts": 1000,  # of the training part
    "validations": 6,  # within a training: points of the learning curve, and checkpoints
    "k": 10,
    "tokens_of_peer": {"eurlex4k-proxy": 256, "debian-deps": 128},  # of a text; ours: 256
    "learning_rate_of_peer": 1e-4,  # its default; the published settings, for BERT-base, have 5e-5
    "remarks": [
        "lightxml: default settings and the bundled MiniLM, but for matrix products in bf16 where "
        "the processor has it (decision 14; before 18 November 2026, 20:00, in fp32); as many "
        "epochs as fit --minutes, by a probe beforehand; the best of several checkpoints by P@5 on "
        "the validation texts, which are 1,000 of the training texts, drawn; all else is taught",
        "linear_tree: default settings, all training texts",
        "average: the mean of the log odds of both scores, in equal parts; learned: weights by P@5 "
        "on the validation texts, with a linear_tree that was not taught them, then used with the "
        "linear_tree of all texts",
        "the test texts are ranked once by each system, after everything was chosen",
        "PECOS: the same MiniLM weights, the same TF-IDF matrix as linear_tree, all training "
        "texts; 128 tokens, its default, on debian-deps, where it would fill up all texts to 256 "
        "(median 78); number of steps such that clustering, tokenising, fine-tuning on each "
        "level, embedding and its ranker together take --minutes, by a probe beforehand, shared "
        "among the levels like in its published settings. Where embedding all texts after each "
        "level takes more than half of the minutes, levels inherit their weights (one of its "
        "settings) and only the last one's texts are embedded; half of the minutes are for steps "
        "even where the rest takes more than the other half, so that it may take longer",
        "xrt: its defaults, but batches of 32, which are faster here than its 8; xrt-published: "
        "what its authors publish for Eurlex-4K (tfn+man negatives, weighted squared hinge, "
        "leaves of 16, l3-hinge), but its learning rate",
        "train_seconds: everything from texts to the finished model, of both members where there "
        "are two; peak_mb: resident memory of the whole process at its peak in training, Python, "
        "torch and data included; PECOS's loader processes are not counted",
        "texts_per_second: all test texts; single_*: one text at a time, same threads; from raw "
        "text, but PECOS is given the TF-IDF features",
        "curve: P@k on the validation texts by minute of training",
    ],
}
LIMIT_MINUTES = 45
POINTS_AHEAD = 1.0
POINTS_INT8 = 0.3


def run(options: Options) -> list[Measurement]:
    """One row per data set and system."""
    return _cells.in_cells(options, SETTINGS, SYSTEMS, CELLS)


def check(measurements: list[Measurement]) -> list[Claim]:
    """Points of P@5, and what int8 costs; sets and systems that were not run are left out."""
    claims = []
    for name in dict.fromkeys(row["data"] for row in measurements):
        rows = {
            row["system"]: row
            for row in measurements
            if row["data"] == name and "failed" not in row
        }
        peers = [rows[peer] for peer in (PEER, PEER_PUBLISHED) if peer in rows]
        for both in (rows[system] for system in (AVERAGE, LEARNED) if system in rows):
            claims += _ahead(name, both, rows.get(TREE), peers)
        if NEURAL in rows:
            minutes = rows[NEURAL]["train_seconds"] / 60
            claims.append(
                Claim(
                    f"{name}: lightxml is trained within {LIMIT_MINUTES} minutes (minutes)",
                    minutes <= LIMIT_MINUTES,
                    minutes,
                )
            )
        if NEURAL in rows and INT8 in rows:
            points = rows[INT8]["P@1"] - rows[NEURAL]["P@1"]
            claims.append(
                Claim(
                    f"{name}: int8 costs at most {POINTS_INT8} points of P@1 (points)",
                    points >= -POINTS_INT8,
                    points,
                )
            )
    return claims


def _ahead(
    name: str, both: Measurement, tree: Measurement | None, peers: list[Measurement]
) -> list[Claim]:
    """Of lightxml and linear_tree together."""
    claims = []
    what = f"{name}: P@5 of the {both['system']}"
    if peers:
        ahead = both["P@5"] - max(row["P@5"] for row in peers)
        claims.append(Claim(f"{what} above XR-Transformer's (points ahead)", ahead > 0, ahead))
    if tree and name == "eurlex4k-proxy":
        ahead = both["P@5"] - tree["P@5"]
        claims.append(
            Claim(
                f"{what} {POINTS_AHEAD} above linear_tree's (points ahead)",
                ahead >= POINTS_AHEAD,
                ahead,
            )
        )
    return claims


def neural_job(name: str, options: Options) -> Job:
    """The default settings, validated."""
    texts = len(with_texts(dataset(options, name)))
    share = min(0.2, SETTINGS["validation_texts"] / texts)
    training = {
        "validation": share,
        "validations": SETTINGS["validations"],
        "metric": "P@5",
        "precision": PRECISION,
        "seed": options.seed,
    }
    return Job("lightxml", "lightxml", name, {"training": training}, minutes=options.minutes)


def tree_job(name: str, held_out: int = 0) -> Job:
    """linear_tree as it comes."""
    return Job("linear_tree" + "-validated" * bool(held_out), "linear_tree", name, {}, held_out)


def _tree(name: str, options: Options) -> Measurement:
    return _cells.cell(tree_job(name), options, SETTINGS["k"])


def _neural(name: str, options: Options) -> Measurement:
    place, cost = _cells.trained(neural_job(name, options), options)
    tree, _ = _cells.trained(_unseen_job(name, options), options)
    beside = {"tree_on_validation": alone(_on_validation, tree, name, options)}
    return cost | beside | alone(_measure, [place], NEURAL, name, options)


def _int8(name: str, options: Options) -> Measurement:
    place, cost = _cells.trained(neural_job(name, options), options)
    return _cells.without_run(cost) | alone(_measure, [place], INT8, name, options)


def _average(name: str, options: Options) -> Measurement:
    places, cost = _both(name, options)
    return cost | alone(_measure, places, AVERAGE, name, options)


def learned(name: str, options: Options) -> Measurement:
    """lightxml and linear_tree, with weights learned on the validation texts."""
    places, cost = _both(name, options)
    unseen, more = _cells.trained(_unseen_job(name, options), options)
    cost["train_seconds"] += more["train_seconds"]
    return cost | alone(_measure, [*places, unseen], LEARNED, name, options)


def _unseen_job(name: str, options: Options) -> Job:
    """A linear_tree that is not taught the validation texts."""
    texts = len(with_texts(dataset(options, name)))
    return tree_job(name, held_out=round(_share(name, options) * texts))


def _on_validation(place: Path, name: str, options: Options) -> dict[str, float]:
    """What stands beside the learning curve."""
    import xmtc

    xmtc.set_threads(options.threads)
    report = xmtc.evaluate(xmtc.load(place), _validation(name, options))
    return {f"P@{k}": round(report.metrics[f"P@{k}"], 2) for k in _cells.KS}


def _validation(name: str, options: Options) -> Dataset:
    """The texts that `lightxml` holds out."""
    return with_texts(dataset(options, name)).split(_share(name, options), options.seed)[1]


def _share(name: str, options: Options) -> float:
    share: float = neural_job(name, options).settings["training"]["validation"]
    return share


def _both(name: str, options: Options) -> tuple[list[Path], Measurement]:
    neural, first = _cells.trained(neural_job(name, options), options)
    tree, second = _cells.trained(tree_job(name), options)
    return [neural, tree], _cells.together([first, second])


def _measure(places: Sequence[Path], system: str, name: str, options: Options) -> Measurement:
    import xmtc

    xmtc.set_threads(options.threads)
    models = [xmtc.load(place) for place in places]
    model, more = _made(system, models, name, options)
    return _cells.measured(model, options, name, SETTINGS["k"]) | more


def _made(
    system: str, models: list[Model], name: str, options: Options
) -> tuple[Model, Measurement]:
    """The system of these members, and what is to be said of it."""
    if system == INT8:
        return _cells.with_encoder(models[0], int8=True), {}
    if system == AVERAGE:
        from xmtc.models import ensemble

        return ensemble.of(models, ensemble.Config(how="logit")), {}
    if system == LEARNED:
        return _combined(models, name, options)
    return models[0], {}


def _combined(models: list[Model], name: str, options: Options) -> tuple[Model, Measurement]:
    """Weights learned with the tree that never saw the validation texts, for the one that did."""
    from xmtc.models import ensemble

    neural, tree, unseen = models
    found = ensemble.learned(
        [neural, unseen], _validation(name, options), ensemble.Config(how="logit")
    )
    taught = {NEURAL: neural, TREE: tree}
    members = [taught[member.kind] for member in found.members]
    return ensemble.of(members, found.config), {
        "members": [member.kind for member in members],
        "weights": found.weights.tolist(),
    }


def _peer(mode: str) -> Callable[[str, Options], Measurement]:
    return lambda name, options: ask_peer(mode, name, options)


def ask_peer(mode: str, name: str, options: Options) -> Measurement:
    """XR-Transformer in its own environment; the same weights, features and minutes."""

    tokens = SETTINGS["tokens_of_peer"].get(name, 256)
    task = {
        "mode": mode,
        "minutes": options.minutes,
        "k": SETTINGS["k"],
        "tokens": tokens,
        "threads": options.threads,
        "seed": options.seed,
        "rate": SETTINGS["learning_rate_of_peer"],
    }
    place = options.work / f"{name}-pecos-{mode}"
    return _cells.kept(
        place, {**task, "subset": options.subset}, lambda: _asked_peer(task, name, options)
    )


def _asked_peer(task: dict[str, Any], name: str, options: Options) -> Measurement:
    train = with_texts(dataset(options, name))
    test = _cells.asked(options, name).named_in(train.labels)
    with tempfile.TemporaryDirectory() as folder:
        write_for_peer(Path(folder), train, list(test.texts))
        try:
            with Peer("pecos", "pecos_xrt.py") as peer:
                minutes = 4 * options.minutes + options.limit_minutes
                answer = peer.ask_within(minutes, {**task, "folder": folder})
                answer |= peer.about
        except PeerFailed as problem:
            return {"failed": str(problem)}
        if "failed" in answer:
            return answer
        ranking = saved_ranking(Path(folder) / "ranking.npz", SETTINGS["k"])
    answer["texts_per_second"] = len(test) / answer.pop("rank_seconds")
    found = quality_of(ranking, test, train.trained_on(), keep=options.ranking)
    return {**answer, **found, "trained_commit": source()["commit"][:9]}


def write_for_peer(folder: Path, train: Any, asked: Sequence[str]) -> None:
    """Texts, matrices and the encoder."""
    from xmtc.models import linear_tree
    from xmtc.neural.encoders.locate import BUNDLED, find
    from xmtc.text import tfidf

    encoder, features = tfidf.learn(train.texts, linear_tree.Config().text)
    matrices = {"X": features, "Y": train.relevant, "T": encoder.encode(asked)}
    for part, matrix in matrices.items():
        sp.save_npz(folder / part, sp.csr_matrix(matrix))
    (folder / "texts.json").write_text(json.dumps([list(train.texts), list(asked)]))
    shutil.copytree(find(BUNDLED), folder / "encoder")


CELLS: dict[str, Callable[[str, Options], Measurement]] = {
    "linear_tree": _tree,
    "lightxml": _neural,
    "int8": _int8,
    "average": _average,
    "learned": learned,
    "xrt": _peer("defaults"),
    "xrt-published": _peer("published"),
}
