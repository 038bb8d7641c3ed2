"""linear_tree beside linear peers given the same features, and fastText, which reads raw text."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from benchmarks.kit import Measurement, Options, chosen, dataset, say, timed, with_texts
from benchmarks.peers.ask import Peer, PeerFailed
from benchmarks.peers.at_work import latency
from benchmarks.peers.venv import OWN
from benchmarks.quality._figures import quality_of, saved_ranking
from benchmarks.quality._tree_claims import RAW, check

if TYPE_CHECKING:
    from xmtc.core.arrays import Csr

__all__ = ["SETTINGS", "check", "run"]


@dataclass(frozen=True)
class Contender:
    """A system with its script, its environment and the numbers of trees that it is asked for."""

    name: str
    venv: str
    script: str
    mode: str = ""
    trees: tuple[int, ...] = (1, 3)


CONTENDERS = {
    "xmtc": Contender("xmtc", OWN, "xmtc_tree.py"),
    "pecos": Contender("PECOS XR-Linear", "pecos", "pecos_linear.py"),
    "omikuji-parabel": Contender("omikuji Parabel", "omikuji", "omikuji_tree.py", "parabel"),
    "omikuji-bonsai": Contender("omikuji Bonsai", "omikuji", "omikuji_tree.py", "bonsai"),
    "napkinxc": Contender("napkinXC PLT", "napkinxc", "napkinxc_plt.py"),
    "libmultilabel": Contender(
        "libmultilabel tree", "libmultilabel", "libmultilabel_tree.py", trees=(1,)
    ),
    "sklearn": Contender("scikit-learn one-vs-rest", "sklearn", "sklearn_rest.py", trees=(0,)),
    "fasttext": Contender("fastText", "fasttext", "fasttext_ova.py", trees=(0,)),
}
SETTINGS: dict[str, Any] = {
    "data": ["eurlex57k", "eurlex4k-proxy", "debian-deps", "rust-prs", "yso-finna-en"],
    "text": {"min_df": 2},  # as the peers' table was measured
    "k": 10,
    "enough_minutes": 4,  # of a cell, all its rounds together
    "raw_texts_of": "eurlex57k",
    "systems": list(CONTENDERS),
    "remarks": [
        "all are given the same TF-IDF features, made by xmtc, untimed; clustering is timed",
        "every system with its default settings; xmtc's were chosen on a tenth of the training "
        "texts, never on the test part",
        "three trees: PECOS trains with three seeds and averages by its own ensembler; the others "
        "have an option for it; 0 trees: one-vs-rest and fastText, which are no trees",
        "fastText reads raw text instead of the features: words and pairs of words, the settings "
        "of its tutorial on several labels, one-vs-all up to 20,000 labels and hierarchical "
        "softmax above; its words are split before the clock starts; where its learning rate of "
        "0.5 ends in NaN, half of it is tried, and so on (config says which worked; the time is "
        "that of all tries)",
        "each cell in a process of its own; medians over the rounds, in turns; a cell that has "
        "taken four minutes has no further round (fit_runs says how many it had); the kernels of "
        "xmtc are compiled beforehand on 300 rows",
        "rank_seconds: all test texts in a batch, all threads; single_*: one text at a time, one "
        "thread, timed in the system's own process, of 1,000 texts or as many as 20 s allow "
        "(single_texts says how many)",
        "model_mb: all files that the system saves; nobody's vocabulary, since features are given",
        "peak_mb: highest resident memory while training, minus that before the training data was "
        "loaded, so the data counts for everyone; not of scikit-learn, which works in several "
        "processes",
        "omikuji's data file is read before the clock starts; it has no batch prediction in "
        "Python, so as many threads as given call it text by text",
        "failed: the system did not end within the limit for fitting and ranking together, ran out "
        "of memory, or broke down",
    ],
}


def run(options: Options) -> list[Measurement]:
    """One row per data set, system and number of trees."""
    names = chosen(options.only, SETTINGS["data"], "--only")
    keys = chosen(options.systems, SETTINGS["systems"], "--systems")
    cells = [(CONTENDERS[key], trees) for key in keys for trees in CONTENDERS[key].trees]
    rows = [row for name in names for row in compare(name, cells, options)]
    if SETTINGS["raw_texts_of"] in names and "xmtc" in keys:
        rows.append(_from_raw_text(SETTINGS["raw_texts_of"], options))
    return rows


def compare(
    name: str,
    cells: list[tuple[Contender, int]],
    options: Options,
    text: dict[str, Any] = SETTINGS["text"],
) -> list[Measurement]:
    """One row per system and number of trees, in this order. text: settings of the features."""
    from xmtc.text import tfidf

    train = with_texts(dataset(options, name))
    test = dataset(options, name, "tst").named_in(train.labels)
    settings = tfidf.TfidfConfig(**text)
    encoder, features = tfidf.learn(train.texts, settings)
    rounds: dict[tuple[Contender, int], list[Measurement]] = {cell: [] for cell in cells}
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), features, train.relevant, encoder.encode(test.texts))
        texts = json.dumps([list(train.texts), list(test.texts)])
        (Path(folder) / "texts.json").write_text(texts, encoding="utf-8")
        for number in range(1, options.repeats + 1):
            for (system, trees), figures in rounds.items():
                if any("failed" in before for before in figures) or _enough(figures):
                    continue
                answer, cost = timed(partial(_ask, system, trees, folder, options))
                answer["cell_seconds"] = cost.seconds
                if "failed" not in answer:
                    found = saved_ranking(Path(folder) / "ranking.npz", SETTINGS["k"])
                    answer |= quality_of(found, test, train.trained_on(), keep=options.ranking)
                    answer["texts_per_second"] = len(test) / answer["rank_seconds"]
                figures.append(answer)
                say(f"{name}, {system.name}, {trees} trees, round {number}: {_in_short(answer)}")
    return [
        {
            "data": name,
            "system": system.name,
            "trees": trees,
            "threads": options.threads,
            "text": asdict(settings),
            **_summary(figures),
        }
        for (system, trees), figures in rounds.items()
    ]


def _ask(system: Contender, trees: int, folder: str, options: Options) -> Measurement:
    """The figures of one cell, or what became of it."""
    task = {
        "folder": folder,
        "out": str(Path(folder) / "ranking.npz"),
        "trees": trees,
        "threads": options.threads,
        "seed": options.seed,
        "k": SETTINGS["k"],
        "mode": system.mode,
    }
    try:
        with Peer(system.venv, system.script) as peer:
            answer = peer.ask_within(options.limit_minutes, task)
            return {**peer.about, **answer}
    except PeerFailed as problem:
        return {"failed": str(problem)}


def _enough(figures: list[Measurement]) -> bool:
    """Whether a cell has taken so long that its distance to others is plain."""
    spent = sum(float(row["cell_seconds"]) for row in figures)
    return spent > 60 * float(SETTINGS["enough_minutes"])


def _summary(figures: list[Measurement]) -> Measurement:
    """Medians over the rounds; of a system that failed, only that."""
    last = figures[-1]
    if "failed" in last:
        return {"failed": last["failed"]}
    numbers = [what for what, value in last.items() if isinstance(value, float | int)]
    return {
        **{what: value for what, value in last.items() if what not in numbers},
        **{what: _rounded(median(row[what] for row in figures)) for what in numbers},
        "fit_runs": [_rounded(row["fit_seconds"]) for row in figures],
    }


def _rounded(value: float) -> float:
    return round(value, 2 if value >= 10 else 4)


def _in_short(answer: Measurement) -> str:
    return str(answer.get("failed") or f"{answer['fit_seconds']:.1f} s, P@5 {answer['P@5']:.2f}")


def _from_raw_text(name: str, options: Options) -> Measurement:
    """One text at a time through `xmtc.predict`: text in, names out, one thread."""
    import xmtc

    model = xmtc.train("linear_tree", with_texts(dataset(options, name)))
    texts = dataset(options, name, "tst").texts
    xmtc.set_threads(1)
    figures = latency(lambda text: xmtc.predict(model, [text], k=5), texts)
    xmtc.set_threads(options.threads)
    return {
        "data": name,
        "system": RAW,
        "trees": 1,
        "threads": 1,
        **{what: _rounded(value) for what, value in figures.items()},
    }


def _write(folder: Path, features: Csr, relevant: Csr, asked: Csr) -> None:
    """What the scripts read: three matrices, and the file that omikuji trains from."""
    for part, matrix in (("X", features), ("Y", relevant), ("T", asked)):
        sp.save_npz(folder / part, sp.csr_matrix(matrix))
    with (folder / "X.txt").open("w", encoding="ascii") as file:
        print(*features.shape, relevant.shape[1], file=file)
        for row in range(features.shape[0]):
            labels = _row(relevant, row)[0]
            columns, values = _row(features, row)
            words = [f"{column}:{value:.6g}" for column, value in zip(columns, values, strict=True)]
            print(",".join(map(str, labels)), *words, file=file)


def _row(matrix: Csr, row: int) -> tuple[list[int], list[float]]:
    entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[entries].tolist(), matrix.data[entries].tolist()
