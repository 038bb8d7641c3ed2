"""The catalog: all systems and experiments, read from systems.toml and experiments.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import systems
from benchmarks.experiment import Claim, Experiment, System
from benchmarks.measures import checks, growth, memory, neural_training, tfidf
from xmtc.core.config import read_toml

FOLDER = Path(__file__).resolve().parent
MODULES = (systems, checks, growth, memory, neural_training, tfidf)
TYPES: dict[str, type[System]] = {
    name: value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, System)
}


def read_systems(path: Path) -> dict[str, System]:
    """All systems by key."""
    return {
        key: TYPES[values.pop("type", "Ours")](**tuples(values))
        for key, values in read_toml(path).items()
    }


def read_experiments(path: Path, known: Mapping[str, System]) -> dict[str, Experiment]:
    """All experiments by name. In lists of systems a group stands for its members."""
    values = read_toml(path)
    groups = values.pop("groups")
    return {name: experiment(name, each, known, groups) for name, each in values.items()}


def experiment(
    name: str, values: dict[str, Any], known: Mapping[str, System], groups: dict[str, list[str]]
) -> Experiment:
    """One experiment with its claims."""
    claims = []
    for claim in values.pop("claims", []):
        sides: dict[str, Any] = {
            side: members(claim.pop(side, []), groups) for side in ("of", "to")
        }
        claims.append(Claim(**claim, **sides))
    on = {data: members(each, groups) for data, each in values.pop("systems_on", {}).items()}
    systems = {key: known[key] for key in members(values.pop("systems"), groups)}
    return Experiment(name, systems=systems, claims=tuple(claims), systems_on=on, **tuples(values))


def members(names: str | Sequence[str], groups: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Names of systems, with groups replaced by their members."""
    each = [names] if isinstance(names, str) else names
    found: list[str] = []
    for name in each:
        found += members(groups[name], groups) if name in groups else [name]
    return tuple(found)


def tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples, as frozen classes hold them."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


SYSTEMS = read_systems(FOLDER / "systems.toml")
EXPERIMENTS = read_experiments(FOLDER / "experiments.toml", SYSTEMS)
