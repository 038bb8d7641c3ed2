"""Settings: frozen dataclasses to and from dicts and TOML, and `name=value` from a command line.

    @dataclass(frozen=True)
    class Config:
        epochs: int = setting(3, "passes over the training texts")
        encoder: Pretrained | BiLstm = group(Pretrained)      # one of several classes: a variant
        averaging: Averaging | None = group(None, "stochastic weight averaging (None: off)")

A class that is one of several variants has a `TYPE`, the word that selects it: `encoder=bilstm` or
`encoder.type=bilstm`. A group called `published` holds what exists for a paper's code or for an
ablation; listings leave it out unless asked.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from xmtc.core.errors import ConfigError, did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

PUBLISHED = "published"
TYPE = "type"  # of a variant, in dicts, TOML and dotted names
LARGEST = (1 << 63) - 1  # a whole number that TOML and kernels can hold


@dataclass(frozen=True)
class Setting:
    """One line of a settings table."""

    name: str  # dotted, e.g. "svm.cost"
    type: str
    default: Any
    about: str

    @property
    def published(self) -> bool:
        """Whether it exists for a paper's code or an ablation only."""
        return PUBLISHED in self.name.split(".")


def setting(
    default: Any,
    about: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """A field with a default and its help, which names the textbook term.

    low, high: smallest and largest value. above, below: bounds that it must not reach.
    """
    bounds = (low, high, above, below)
    return dataclasses.field(default=default, metadata={"about": about, "bounds": bounds})


def check_bounds(config: Any) -> None:
    """Raise when a setting lies outside its bounds; None is always allowed."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        low, high, above, below = field.metadata.get("bounds", (None,) * 4)
        if value is None or (low is high is above is below):
            continue
        inside = (low is None or value >= low) and (high is None or value <= high)
        inside = inside and (above is None or value > above) and (below is None or value < below)
        if not inside:
            limits = {"at least": low, "at most": high, "above": above, "below": below}
            words = [f"{word} {limit:,}" for word, limit in limits.items() if limit is not None]
            raise ConfigError(f"{field.name}={value!r}: expected {' and '.join(words)}")


def group(make: Callable[[], Any] | None, about: str = "") -> Any:
    """A field that holds settings of its own; None: off unless one of them is set."""
    if make is None:
        return dataclasses.field(default=None, metadata={"about": about})
    return dataclasses.field(default_factory=make, metadata={"about": about})


def to_dict(config: Any) -> dict[str, Any]:
    """Plain JSON values; nested settings become nested dicts, variants say their type."""
    hints = typing.get_type_hints(type(config))
    return {
        field.name: _plain(getattr(config, field.name), hints[field.name])
        for field in dataclasses.fields(config)
    }


def from_dict(cls: type[T], values: Mapping[str, Any]) -> T:
    """The settings class with these values; what is not named keeps its default."""
    return _from_dict(cls(), values, "")


def to_toml(config: Any) -> str:
    """The settings as TOML. Unset ones are left out, or "none" where the default is a value."""
    import tomli_w

    return tomli_w.dumps(_without_null(to_dict(config), to_dict(type(config)())))


def read_toml(path: str | Path) -> dict[str, Any]:
    """The values in a TOML file."""
    try:
        values: dict[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        return values
    except OSError as error:
        raise ConfigError(f"cannot read settings from {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error


def assignments(pairs: Sequence[str]) -> dict[str, Any]:
    """["epochs=5", "svm.cost=2"] -> {"epochs": "5", "svm": {"cost": "2"}}; later ones win."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        path = [step.strip() for step in name.split(".")]
        if not equals or not all(path):
            raise ConfigError(f"cannot read the setting {pair!r}. Write it as name=value.")
        *groups, last = path
        inner = values
        for group_name in groups:
            if isinstance(inner.get(group_name), str):  # encoder=bilstm, then encoder.dropout=0.1
                inner[group_name] = {TYPE: inner[group_name]}
            inner = inner.setdefault(group_name, {})
        if isinstance(inner.get(last), dict):  # the other way round
            inner[last][TYPE] = value.strip()
        else:
            inner[last] = value.strip()
    return values


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both dicts as one; where they meet, the second wins."""
    result = dict(first)
    for name, value in second.items():
        known = result.get(name)
        result[name] = value
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            same_variant = value.get(TYPE, known.get(TYPE)) == known.get(TYPE)
            result[name] = merged(known, value) if same_variant else value
    return result


def settings_of(config: Any, prefix: str = "") -> Iterator[Setting]:
    """All settings with their values, nested ones with dotted names, in the order of the source."""
    cls = type(config)
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        name = prefix + field.name
        about = field.metadata.get("about", "")
        variants = _variants(hints[field.name])
        if len(variants) > 1 and value is not None:
            yield Setting(f"{name}.{TYPE}", " | ".join(variants), value.TYPE, about)
        if dataclasses.is_dataclass(value):
            yield from settings_of(value, f"{name}.")
        else:
            yield Setting(name, _type_name(hints[field.name]), value, about)


def without_effect(config: Any, prefix: str = "") -> Iterator[str]:
    """Sentences about settings that were changed and have no effect in this combination.

    A settings class says so in a method `without_effect`, which yields (setting, reason).
    """
    for name, reason in getattr(config, "without_effect", tuple)():
        yield f"{prefix}{name} has no effect: {reason}"
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from without_effect(value, f"{prefix}{field.name}.")


def changed(config: Any, *names: str) -> Iterator[str]:
    """Those of these settings, e.g. "optimizer.head_lr", that are not at their defaults."""
    defaults = type(config)()
    return (name for name in names if attrgetter(name)(config) != attrgetter(name)(defaults))


def _from_dict(base: T, values: Mapping[str, Any], prefix: str) -> T:
    """`base` with these values changed; what is not named stays, also inside nested settings."""
    cls = type(base)
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(typing.cast(Any, cls))]
    for name in values:
        if name not in names:
            known = [TYPE, *names] if hasattr(cls, "TYPE") else names
            alike = did_you_mean(str(name), known).replace("mean '", f"mean '{prefix}")
            hint = _elsewhere(cls, str(name), prefix) or alike or "."
            available = ", ".join(prefix + each for each in known)
            raise ConfigError(f"no setting {prefix + str(name)!r}{hint} Available: {available}")
    read = {
        name: _read(value, hints[name], prefix + name, getattr(base, name))
        for name, value in values.items()
    }
    try:
        changed: T = dataclasses.replace(typing.cast(Any, base), **read)
        return changed
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from None


def _elsewhere(cls: type[Any], name: str, prefix: str) -> str:
    """A hint like "; did you mean 'svm.cost'?" for a name that exists one level deeper."""
    for outer, hint in typing.get_type_hints(cls).items():
        for variant in _variants(hint).values():
            if name in {field.name for field in dataclasses.fields(variant)}:
                return f"; did you mean {f'{prefix}{outer}.{name}'!r}?"
    return ""


def _read(value: Any, hint: Any, name: str, now: Any = None) -> Any:
    """One value as its declared type; strings are parsed, since a command line has only those."""
    origin = typing.get_origin(hint)
    options = typing.get_args(hint)
    if variants := _variants(hint):
        return _read_group(value, variants, name, now, type(None) in options)
    if origin in (types.UnionType, typing.Union):
        inner = next(option for option in options if option is not type(None))
        if _is_none(value) and not (inner is str and value == ""):
            return None
        return _read(value, inner, name)
    if origin is typing.Literal:
        if value in options:
            return value
        hint = did_you_mean(str(value), map(str, options)) or "."
        raise ConfigError(f"{name}={value!r}{hint} Available: {', '.join(map(str, options))}")
    if origin is tuple:
        if isinstance(value, str):
            pieces = (piece.strip(" '\"") for piece in value.strip("[]()").split(","))
            value = [piece for piece in pieces if piece]
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{name}={value!r}: expected a list, e.g. {name}=1,2,3")
        return tuple(_read(item, options[0], name) for item in value)
    return _read_scalar(value, hint, name)


def _variants(hint: Any) -> dict[str, type[Any]]:
    """The settings classes that a field may hold, by their type; empty where it holds a value."""
    is_union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    options = typing.get_args(hint) if is_union else (hint,)
    classes = [option for option in options if dataclasses.is_dataclass(option)]
    return {getattr(cls, "TYPE", ""): typing.cast(type[Any], cls) for cls in classes}


def _read_group(
    value: Any, variants: dict[str, type[Any]], name: str, now: Any, optional: bool
) -> Any:
    """Settings of their own: of the variant that is named, else of the one that is there now."""
    if dataclasses.is_dataclass(value) and type(value) in variants.values():
        return value
    if optional and _is_none(value):
        return None
    typed = "" not in variants
    if typed and isinstance(value, str):
        value = {TYPE: value}
    base = now if now is not None else next(iter(variants.values()))()
    if not isinstance(value, Mapping):
        inner = ", ".join(f"{name}.{field.name}" for field in dataclasses.fields(base))
        raise ConfigError(f"{name} is a group of settings; set one of: {inner}")
    if typed and TYPE in value:
        wanted = str(value[TYPE])
        if wanted not in variants:
            hint = did_you_mean(wanted, variants) or "."
            raise ConfigError(f"{name}.{TYPE}={wanted!r}{hint} Available: {', '.join(variants)}")
        if not isinstance(base, variants[wanted]):
            base = variants[wanted]()
        value = {key: each for key, each in value.items() if key != TYPE}
    return _from_dict(base, value, f"{name}.")


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.lower() in ("none", "null", ""))


def _read_scalar(value: Any, hint: type[Any], name: str) -> Any:
    if hint is bool:
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(value, bool | str) and str(value).lower() in known:
            return known[str(value).lower()]
    elif hint is str and isinstance(value, str):
        return value
    elif (
        hint in (int, float)
        and isinstance(value, int | float | str)
        and not isinstance(value, bool)
    ):
        try:
            number = hint(value)
            fits = math.isfinite(number) if hint is float else -LARGEST <= number <= LARGEST
            if fits and (hint is float or not isinstance(value, float) or value == number):
                return number
        except (ValueError, OverflowError):
            pass
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    raise ConfigError(f"{name}={value!r}: expected {words.get(hint, hint.__name__)}")


def _plain(value: Any, hint: Any) -> Any:
    if dataclasses.is_dataclass(value):
        typed = {TYPE: getattr(value, "TYPE", "")} if len(_variants(hint)) > 1 else {}
        return {**typed, **to_dict(value)}
    return list(value) if isinstance(value, tuple) else value


def _without_null(values: dict[str, Any], defaults: Any) -> dict[str, Any]:
    """What TOML can hold: it has no null."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        known = isinstance(defaults, dict) and name in defaults  # else of another variant
        default = defaults[name] if known else None
        if isinstance(value, dict):
            found[name] = _without_null(value, default)
        elif value is not None or default is not None or not known:
            found[name] = "none" if value is None else value
    return found


def _type_name(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return " | ".join(map(str, typing.get_args(hint)))
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return " | ".join(_type_name(option) for option in typing.get_args(hint))
    if dataclasses.is_dataclass(hint):
        return f"group ({', '.join(field.name for field in dataclasses.fields(hint))})"
    if typing.get_origin(hint) is tuple:
        return "list"
    return "None" if hint is type(None) else getattr(hint, "__name__", str(hint))
