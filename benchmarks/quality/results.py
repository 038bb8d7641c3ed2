"""Every system and every peer on each data set: the cells of docs/results.md, one record each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.kit import BenchmarkError, Claim, Measurement, Options, chosen, dataset, say
from benchmarks.peers.ask import PeerFailed
from benchmarks.process import OOM, Killed, TooSlow, alone
from benchmarks.processor import PRECISION
from benchmarks.quality import _cells, aplc, auto, lightxml, linear_tree, xbert
from benchmarks.quality._cells import Job
from benchmarks.quality._standing import (
    DATA,
    FIRST,
    OWN,
    SINGLES,
    TEXT,
    TIMED,
    Cells,
    best_two,
    every_row,
    peer_key,
    same_defaults,
    same_features,
    standing,
)
from benchmarks.quality.xr_transformer import taught_job
from xmtc.core.errors import XmtcError, memory_errors

K = 10
LIMIT_MINUTES = 60.0  # of a linear system
AUTO_TIMES = 2  # auto may take as long as two single models
# Minutes that linear_tree takes, reading and measuring included.
EASY = {
    "eurlex4k-proxy": 2,
    "debian-deps": 2,
    "wordnet-isa": 2,
    "eurlex57k": 4,
    "rust-prs": 5,
    "yso-finna-en": 6,
}
MORE = 1.4  # times the minutes of training: probing and measuring
JUDGED = ("linear_tree", "one_vs_all")  # what the ensemble has besides, where there is a dev part
MARGINS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")


@dataclass(frozen=True)
class System:
    """A row of the tables."""

    title: str
    measure: Callable[[str, Options], Measurement]
    kinds: tuple[str, ...] = ()  # of our models; none: a peer
    models: float = 0.0  # neural ones that are trained, for --minutes each
    effort: float = 1.0  # of a linear one, times that of linear_tree


def _validated(kind: str) -> Callable[[str, Options], Job]:
    """Default settings; the best checkpoint by P@5 on held-out training texts, like lightxml's."""

    def job(name: str, options: Options) -> Job:
        return replace(lightxml.neural_job(name, options), name=kind, kind=kind)

    return job


def _aplc(name: str, options: Options) -> Job:
    training = {**aplc.SETTINGS["training"], "precision": PRECISION, "seed": options.seed}
    return Job("aplc-default", "aplc", name, {"training": training}, minutes=options.minutes)


def _bonsai(name: str, _: Options) -> Job:
    from xmtc.models import presets

    return Job("bonsai", "linear_tree", name, presets.load("bonsai").settings)


# The very jobs of other benchmarks where there are: what they trained is not trained again.
JOBS: dict[str, Callable[[str, Options], Job]] = {
    "linear_tree": lambda name, _: lightxml.tree_job(name),
    "linear_tree-3": lambda name, _: Job("linear_tree-3", "linear_tree", name, {"trees": 3}),
    "parabel": lambda name, options: xbert.other_job("parabel-3", name, options),
    "bonsai": _bonsai,
    "one_vs_all": lambda name, options: xbert.other_job("one_vs_all", name, options),
    "lightxml": lightxml.neural_job,
    "xr_transformer": taught_job,
    "xbert-1": lambda name, options: xbert.xbert_job(name, options, "pifa", "transformer"),
    "aplc": _aplc,
    "gudn": _validated("gudn"),
    "label_attention": _validated("label_attention"),
    "xml_cnn": _validated("xml_cnn"),
}


def _single(key: str) -> Callable[[str, Options], Measurement]:
    return lambda name, options: _cells.cell(
        JOBS[key](name, options), options, K, options.limit_minutes
    )


def _six(name: str, options: Options) -> Measurement:
    kinds = xbert.TOGETHER["xbert-6"]
    return xbert.together(*kinds, name, options) | xbert.speed(*kinds, name, options)


def _auto(name: str, options: Options) -> Measurement:
    return auto.cell(name, replace(options, minutes=AUTO_TIMES * options.minutes))


def _learned(name: str, options: Options) -> Measurement:
    """Where there is a dev part, weights are learned on it: of two linear and the best two neural
    systems, those that help there."""
    if not (options.data / name / "dev.jsonl.gz").is_file():
        return lightxml.learned(name, options)
    best = best_two(standing())
    if not best:
        raise BenchmarkError(
            f"which two neural systems are best is not known: measure all of "
            f"{', '.join(SINGLES)} on {FIRST} first."
        )
    pairs = [_cells.trained(JOBS[key](name, options), options) for key in (*JUDGED, *best)]
    places, costs = zip(*pairs, strict=True)
    found = alone(_measure_learned, places, name, options)
    costs_of = zip(costs, found["weights"], strict=True)
    kept = sum(cost["model_mb"] for cost, weight in costs_of if weight)
    return {**_cells.together(costs), **found, "model_mb": kept}


def _measure_learned(places: Sequence[Path], name: str, options: Options) -> Measurement:
    import xmtc
    from xmtc.models import ensemble

    xmtc.set_threads(options.threads)
    models = [xmtc.load(place) for place in places]
    how = ensemble.Config(how="logit")
    learned = ensemble.learn_weights(models, dataset(options, name, "dev"), how)
    model = ensemble.weighted(models, learned.weights, how)
    return _cells.measured(model, options, name, K) | {
        "members": [model.kind for model in models],
        "weights": list(learned.weights),
        "dev": {
            "metric": how.metric,
            "learned": learned.figure,
            "equal": learned.equal,
            "alone": list(learned.alone),
        },
    }


def _peer(key: str, trees: int) -> Callable[[str, Options], Measurement]:
    contender = linear_tree.CONTENDERS[key]

    def measure(name: str, options: Options) -> Measurement:
        once = replace(options, repeats=1)
        (row,) = linear_tree.compare(name, [(contender, trees)], once, TEXT)
        return row

    return measure


def _xrt(mode: str) -> Callable[[str, Options], Measurement]:
    return lambda name, options: lightxml.ask_peer(mode, name, options)


TREE = ("linear_tree",)
OURS: dict[str, System] = {
    "linear_tree": System("linear_tree", _single("linear_tree"), TREE),
    "linear_tree-3": System("linear_tree, 3 trees", _single("linear_tree-3"), TREE, effort=1.5),
    "parabel": System("linear_tree as Parabel", _single("parabel"), TREE, effort=2),
    "bonsai": System("linear_tree as Bonsai", _single("bonsai"), TREE, effort=3),
    "one_vs_all": System("one_vs_all", _single("one_vs_all"), ("one_vs_all",), effort=5),
    **{key: System(key, _single(key), (key,), 1) for key in SINGLES if key != "xbert-1"},
    "xbert-1": System("xbert, T=1", _single("xbert-1"), ("xbert",), 1),
    "xbert-6": System("xbert, T=6", _six, ("xbert",), 6),
    "learned": System("learned ensemble", _learned, ("lightxml", "linear_tree"), 1.05),
    "auto": System("auto", _auto, ("auto",), AUTO_TIMES),
}
EFFORT = {
    "pecos": 2,
    "omikuji-parabel": 2,
    "omikuji-bonsai": 3,
    "napkinxc": 3,
    "libmultilabel": 6,
    "sklearn": 15,
    "fasttext": 8,
}
LINEAR_PEERS: dict[str, System] = {
    peer_key(key, trees): System(
        contender.name + f", {trees} trees" * (trees > 1),
        _peer(key, trees),
        effort=EFFORT[key] * (1 if trees < 2 else 2),
    )
    for key, contender in linear_tree.CONTENDERS.items()
    if key != "xmtc"
    for trees in contender.trees
}
PEERS: dict[str, System] = {
    **LINEAR_PEERS,
    "xrt": System(lightxml.PEER, _xrt("defaults"), models=1.3),
    "xrt-published": System(lightxml.PEER_PUBLISHED, _xrt("published"), models=1.3),
}
SYSTEMS = OURS | PEERS
LINEAR = [key for key, system in OURS.items() if not system.models]
ENSEMBLES = ("xbert-6", "learned", "auto")

SETTINGS: dict[str, Any] = {
    "data": list(DATA),
    "systems": list(SYSTEMS),
    "k": K,
    "limit_minutes": LIMIT_MINUTES,
    "auto_times": AUTO_TIMES,
    "remarks": [
        "every system with its default settings, but for what is said here; linear_tree as Parabel "
        "and as Bonsai: its presets of these papers, three trees",
        "neural systems: the bundled MiniLM (label_attention and xml_cnn learn words from the "
        "texts alone), as many epochs as fit --minutes, by a probe beforehand; lightxml, gudn, "
        "label_attention and xml_cnn keep the best checkpoint on 1,000 held-out training texts, on "
        "eurlex57k all that choose do so by 1,000 texts of its dev part (auto: 2,000); "
        "all multiply in bf16 where the processor does (decision 14), elsewhere in fp32; before "
        "17 November 2026, 20:57, aplc, gudn, label_attention and xml_cnn did so in fp32, "
        "lightxml before 18 November 2026, 20:00",
        "xbert: PIFA label vectors, 128 tokens, bf16 likewise, one epoch whatever --minutes, "
        "the best of several checkpoints on 500 held-out training texts (eurlex57k: as above), "
        "a ranker of words alone; T=6: the average of two kinds of label vectors times three seeds",
        "learned ensemble: lightxml and linear_tree, weights chosen on lightxml's held-out texts; "
        "on eurlex57k those of linear_tree, one_vs_all (since 18 November 2026) and the best two "
        "neural systems of eurlex4k-proxy that help on the dev part, with weights chosen there, "
        "which no member was taught, though some chose checkpoints by it; its time is that of all "
        "four, its MB of those that are kept",
        "auto: twice --minutes in all",
        "no setting was chosen on a test part; the test texts are ranked once by each system, but "
        "those of eurlex57k twice by xr_transformer (with and without a tree) and three times by "
        "the ensemble (docs/results.md)",
        "ours is timed from raw text to label names. Linear peers are given the TF-IDF features "
        "that our systems make by default (`text` of their rows; before 18 November 2026 without "
        "words of a single text, min_df=2), and neither making them nor a vocabulary counts in "
        "their time and size; fastText reads raw text; see the remarks of `quality linear_tree` "
        "and `quality lightxml`",
        "train_seconds: of all members where there are several; peak_mb: of ours, and of PECOS "
        "XR-Transformer, the whole process, Python, torch and data included; of linear peers what "
        "training added",
        "single_*: one text at a time; batch_*: per text, 64 at a time; intervals: 95 %, 1,000 "
        "bootstrap samples of the test texts; deciles: what labels add to P@5, from frequent to "
        "rare, each part with a tenth of all labels that training texts carry",
        "failed: OOM, or longer than 60 minutes (single models), or what broke",
    ],
}


def run(options: Options) -> list[Measurement]:
    """One row per data set and system: those that were asked for, or all that the page wants."""
    names = chosen(options.only, DATA, "--only")
    keys = chosen(options.systems, list(SYSTEMS), "--systems")
    cells = standing()
    return [
        _row(name, key, options)
        for name in names
        for key in keys
        if options.systems or key in wanted(name, cells)
    ]


def check(measurements: list[Measurement]) -> list[Claim]:
    """On each data set, the best single model and the ensemble: points ahead of every peer."""
    names = dict.fromkeys(row["data"] for row in measurements)
    return [claim for name in names for claim in _claims(name, measurements)]


def _claims(data: str, measurements: list[Measurement]) -> list[Claim]:
    rows = [row for row in measurements if row["data"] == data and "failed" not in row]
    peers = [row for row in rows if row["key"] in PEERS]
    claims = []
    for what, ours in (
        ("the best single model", set(OURS) - set(ENSEMBLES)),
        ("the ensemble", {"learned"}),
    ):
        some = [row for row in rows if row["key"] in ours]
        if some and peers:
            best = max(some, key=lambda row: float(row["P@5"]))
            claims += [_ahead(f"{data}, {what}", best, peers, name) for name in MARGINS]
    return claims


def _ahead(what: str, ours: Measurement, peers: Sequence[Measurement], name: str) -> Claim:
    ahead = ours[name] - max(row[name] for row in peers)
    sentence = f"{what} ({ours['system']}): {name} above that of every peer measured (points ahead)"
    return Claim(sentence, ahead > 0, ahead)


def wanted(data: str, cells: Cells) -> list[str]:
    """The systems that the page shows on a data set."""
    if data == FIRST:
        return list(SYSTEMS)
    best = best_two(cells) if data != "yso-finna-en" else []
    ensembles = ["learned"] * (data == "eurlex57k" and bool(best))
    automatic = ["auto"] * (data != "yso-finna-en")
    neural_peers = ["xrt"] * (data == "eurlex57k")  # where we claim to be ahead of every peer
    return [*LINEAR, *best, *ensembles, *automatic, *LINEAR_PEERS, *neural_peers]


def pending(options: Options, results: Path) -> list[tuple[str, str, float]]:
    """Data set, system and about how many minutes: cells without a fit row, the cheapest first."""
    rows = every_row(results)
    cells = standing(results)
    left = [
        (name, key, minutes_of(name, key, options))
        for name in DATA
        for key in wanted(name, cells)
        if not any(is_fit(key, *row, options) for row in rows.get((name, key), ()))
    ]
    return sorted(left, key=lambda cell: cell[2])  # of equals, the first data set


def is_fit(key: str, row: Measurement, record: dict[str, Any], options: Options) -> bool:
    """Whether a row need not be made again: same default settings or features, minutes of training
    and threads, and all figures that the page shows."""
    failed = str(row.get("failed", ""))
    if failed and record["benchmark"] != OWN.replace("_", " "):
        return False  # it may have had a shorter limit there
    if failed and failed != OOM and not failed.startswith("> "):
        return False  # what broke may work now
    system = SYSTEMS[key]
    if row.get("threads", options.threads) != options.threads:
        return False
    if not failed and not row.keys() >= {"single_p50_ms", "model_mb", "intervals"}:
        return False
    in_time = key not in TIMED or row.get("minutes") == _allowed(key, options)
    of_today = same_defaults(row) if system.kinds else same_features(key, row)
    return in_time and of_today


def minutes_of(data: str, key: str, options: Options) -> float:
    """About how long a cell takes; a guess."""
    system = SYSTEMS[key]
    if system.models:
        return EASY[data] + MORE * system.models * options.minutes
    return min(LIMIT_MINUTES, EASY[data] * system.effort)


def _allowed(key: str, options: Options) -> float:
    return options.minutes * (AUTO_TIMES if key == "auto" else 1)


def kept_ranking(name: str, key: str, options: Options) -> Path:
    """Where a cell leaves the best labels of the test texts."""
    return options.work / "rankings" / f"{name}-{key}.npy"


def _row(name: str, key: str, options: Options) -> Measurement:
    system = SYSTEMS[key]
    options = replace(
        options,
        limit_minutes=max(LIMIT_MINUTES, options.limit_minutes),
        ranking=kept_ranking(name, key, options),
    )
    say(f"{name}, {system.title}: about {minutes_of(name, key, options):.0f} minutes")
    found = _tried(system, name, options)
    limit = {"minutes": _allowed(key, options)} if system.models else {}
    say(f"{name}, {system.title}: {found.get('failed') or round(found['P@5'], 2)}")
    cell = {
        "data": name,
        "key": key,
        "system": system.title,
        "threads": options.threads,
        "seed": options.seed,
        **limit,
    }
    return {**cell, **_cells.rounded(found), **cell}  # a peer's row has a name of its own


def _tried(system: System, name: str, options: Options) -> Measurement:
    """The figures, or what became of the system; what is wrong with the benchmark is raised."""
    try:
        with memory_errors():
            return system.measure(name, options)
    except (TooSlow, PeerFailed) as problem:
        said = str(problem)
    except (Killed, MemoryError):
        said = OOM
    except (BenchmarkError, XmtcError):
        raise
    except OSError as problem:  # a full disk, say
        raise BenchmarkError(str(problem)) from problem
    except Exception as problem:  # a system's failure is a result
        said = f"{type(problem).__name__}: {problem}"[:200]
    return {"failed": said, "defaults": {kind: _cells.defaults(kind) for kind in system.kinds}}
