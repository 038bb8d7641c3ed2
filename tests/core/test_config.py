"""Settings survive dicts, JSON, TOML and command lines, and refuse what makes no sense."""

import dataclasses
import json
import types
import typing
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from xmtc.core import config
from xmtc.core.errors import ConfigError
from xmtc.models import catalog

CLASSES = [catalog.module_of(kind).Config for kind in catalog.KINDS]
every_class = pytest.mark.parametrize("cls", CLASSES, ids=list(catalog.KINDS))


@dataclass(frozen=True)
class Inner:
    """Made up, so that every type of setting occurs."""

    cost: float = config.setting(1.0, "higher: closer")
    sizes: tuple[int, ...] = (16, 256)
    rounds: int = config.setting(3, "iterations", low=1)

    def __post_init__(self):
        config.check_bounds(self)


@dataclass(frozen=True)
class Outer:
    """One of each."""

    mode: typing.Literal["word", "char"] = config.setting("word", "how to cut")
    limit: int | None = None
    share: float | None = None
    name: str = "x"
    fast: bool = False
    inner: Inner = field(default_factory=Inner)
    reader: "Pretrained | Own" = config.group(lambda: Pretrained(), "one of two variants")
    averaging: Inner | None = config.group(None, "off unless it is set")


@dataclass(frozen=True)
class Pretrained:
    """A variant with a name."""

    TYPE: typing.ClassVar[str] = "pretrained"
    name: str = config.setting("minilm", "which one")


@dataclass(frozen=True)
class Own:
    """A variant with a size."""

    TYPE: typing.ClassVar[str] = "own"
    size: int = config.setting(64, "how large")


def values_of(hint):
    """Any value that a setting of this type may have."""
    origin = typing.get_origin(hint)
    options = typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return instances(hint)
    if origin in (types.UnionType, typing.Union):
        found = st.one_of(st.none() if each is type(None) else values_of(each) for each in options)
        return found.filter(lambda value: str(value).lower() not in ("none", "null") or not value)
    if origin is typing.Literal:
        return st.sampled_from(options)
    if origin is tuple:
        return st.lists(values_of(options[0]), max_size=4).map(tuple)
    whole = st.integers(1, 20) | st.integers(-(2**63) + 1, 2**63 - 1)
    real = st.floats(0.001, 1) | st.floats(allow_nan=False, allow_infinity=False)
    return {int: whole, float: real, bool: st.booleans(), str: st.text(max_size=9)}[hint]


@st.composite
def instances(draw, cls):
    hints = typing.get_type_hints(cls)
    values = {}
    for item in dataclasses.fields(cls):
        if draw(st.booleans()):
            values[item.name] = draw(values_of(hints[item.name]))
    try:
        return cls(**values)
    except ConfigError:
        assume(False)


def leaves(values, prefix=""):
    for name, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


patient = settings(
    max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


@pytest.mark.parametrize("cls", [Outer, *CLASSES])
@patient
@given(data=st.data())
def test_settings_come_back_from_a_dict_and_from_json(cls, data):
    before = data.draw(instances(cls))
    assert config.from_dict(cls, config.to_dict(before)) == before
    assert config.from_dict(cls, json.loads(json.dumps(config.to_dict(before)))) == before


@pytest.mark.parametrize("cls", [Outer, *CLASSES])
@patient
@given(data=st.data())
def test_settings_come_back_from_a_toml_file(cls, data, tmp_path_factory):
    before = data.draw(instances(cls))
    path = tmp_path_factory.mktemp("toml") / "settings.toml"
    path.write_bytes(config.to_toml(before).encode())
    assert config.from_dict(cls, config.read_toml(path)) == before


@every_class
@patient
@given(data=st.data())
def test_settings_come_back_from_a_command_line(cls, data):
    before = data.draw(instances(cls))
    values = dict(leaves(config.to_dict(before)))
    assume(all(str(value) == str(value).strip() for value in values.values()))  # space is dropped
    pairs = [f"{name}={value}" for name, value in values.items()]
    assert config.from_dict(cls, config.assignments(pairs)) == before


@pytest.mark.parametrize("cls", [Outer, *CLASSES])
def test_what_is_not_named_keeps_its_default(cls):
    assert config.from_dict(cls, {}) == cls()
    table = {setting.name: setting.default for setting in config.settings_of(cls())}
    plain = {n: tuple(v) if isinstance(v, list) else v for n, v in leaves(config.to_dict(cls()))}
    assert table == plain


def test_a_settings_table_has_names_types_defaults_and_comments():
    table = {setting.name: setting for setting in config.settings_of(Outer())}
    assert list(table) == [
        "mode",
        "limit",
        "share",
        "name",
        "fast",
        "inner.cost",
        "inner.sizes",
        "inner.rounds",
        "reader.type",
        "reader.name",
        "averaging",
    ]
    assert table["mode"].type == "word | char"
    assert table["mode"].about == "how to cut"
    assert table["inner.cost"].default == 1.0
    assert table["inner.cost"].about == "higher: closer"


@pytest.mark.parametrize("name", [s.name for cls in CLASSES for s in config.settings_of(cls())])
def test_a_misspelt_setting_gets_the_right_one_suggested(name):
    cls = next(c for c in CLASSES if name in [s.name for s in config.settings_of(c())])
    with pytest.raises(ConfigError) as error:
        config.from_dict(cls, config.assignments([f"{name}x=1"]))
    assert f"no setting '{name}x'; did you mean '{name}'?" in str(error.value)


def test_a_setting_unlike_any_other_gets_the_list():
    with pytest.raises(ConfigError, match=r"no setting 'inner.zzz'\. Available: inner.cost, "):
        config.from_dict(Outer, {"inner": {"zzz": 1}})
    with pytest.raises(ConfigError, match="no setting '1'"):
        config.from_dict(Outer, {1: 1})


WRONG = [
    ("limit", [1.5, "x", "1.5", True, [], {}, float("nan"), float("inf"), 2**63, -(10**400), "²"]),
    ("inner.cost", ["x", None, True, [1], {}, "nan", "inf", float("nan"), float("inf"), 10**400]),
    ("name", [1, None, True, ["x"], {}]),
    ("fast", [2, "maybe", None, [], 1.0, ""]),
    ("mode", ["words", 1, None, ["word"], {}, True]),
    ("inner.sizes", [1, None, {"a": 1}, [1, "x"], [[1]], [None], "1,x", True]),
    ("inner.rounds", [None, "", "none", 0, -1]),
    ("inner", [1, None, "x", [], [("cost", 1)]]),
    ("share", ["x", True, [], "nan"]),
]


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in WRONG for v in values])
def test_a_value_of_the_wrong_kind_is_an_error_that_names_the_setting(name, value):
    *groups, last = name.split(".")
    values = {last: value}
    for group in groups:
        values = {group: values}
    with pytest.raises(ConfigError, match=last):
        config.from_dict(Outer, values)


@pytest.mark.parametrize(
    ("pair", "name", "value"),
    [
        ("limit=5", "limit", 5),
        ("limit=none", "limit", None),
        ("limit=", "limit", None),
        ("limit=9007199254740993", "limit", 2**53 + 1),
        ("share=1e-3", "share", 0.001),
        ("fast=Yes", "fast", True),
        ("fast=0", "fast", False),
        ("name= a=b ", "name", "a=b"),
        ("mode=char", "mode", "char"),
    ],
)
def test_words_on_a_command_line_become_values(pair, name, value):
    assert getattr(config.from_dict(Outer, config.assignments([pair])), name) == value


@pytest.mark.parametrize("text", ["4,5", "[4, 5]", "(4,5,)", " 4 , 5 "])
def test_a_list_can_be_written_in_several_ways(text):
    values = config.assignments([f"inner.sizes={text}"])
    assert config.from_dict(Outer, values).inner.sizes == (4, 5)


def test_later_assignments_win():
    assert config.assignments(["a=1", "b.c=2", "b.d=3", "a=4"]) == {
        "a": "4",
        "b": {"c": "2", "d": "3"},
    }


@pytest.mark.parametrize("pairs", [["a"], ["=1"], [" =1"], [""], ["a."], ["a..b=1"]])
def test_an_assignment_that_cannot_be_read_is_quoted(pairs):
    with pytest.raises(ConfigError) as error:
        config.assignments(pairs)
    assert repr(pairs[-1]) in str(error.value)


def nested_dicts():
    return st.recursive(
        st.integers(0, 9),
        lambda inner: st.dictionaries(st.sampled_from("abc"), inner),
        max_leaves=6,
    ).filter(lambda value: isinstance(value, dict))


@given(nested_dicts(), nested_dicts())
def test_merging_keeps_both_and_the_second_wins(first, second):
    copies = json.dumps([first, second])
    both = config.merged(first, second)
    assert json.dumps([first, second]) == copies
    assert config.merged(both, second) == both
    assert both.keys() == first.keys() | second.keys()
    for name, value in leaves(second):
        found = both
        for step in name.split("."):
            found = found[step]
        assert found == value
    assert config.merged(first, {}) == first
    assert config.merged({}, second) == second


@pytest.mark.parametrize("content", [b"a = ", b"\xff", b"a = 1\na = 2", None])
def test_a_toml_file_that_cannot_be_read_is_an_error_with_its_path(tmp_path, content):
    path = tmp_path / "bad.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"bad\.toml"):
        config.read_toml(path)


@every_class
def test_a_settings_class_is_frozen(cls):
    with pytest.raises(dataclasses.FrozenInstanceError):
        cls().anything = 1


# Variants and optional groups
def outer(*pairs):
    return config.from_dict(Outer, config.assignments(pairs))


@pytest.mark.parametrize("pairs", [["reader=own"], ["reader.type=own"], [" reader = own "]])
def test_a_variant_is_selected_by_its_type(pairs):
    assert outer(*pairs).reader == Own()


def test_settings_of_a_variant_go_with_its_type():
    assert outer("reader=own", "reader.size=9").reader == Own(9)
    assert outer("reader.size=9", "reader=own").reader == Own(9)
    assert outer("reader.name=bert").reader == Pretrained("bert")
    with pytest.raises(ConfigError, match=r"no setting 'reader.size'.* Available: reader.type"):
        outer("reader.size=9")
    with pytest.raises(ConfigError, match=r"reader.type='ovn'; did you mean 'own'\? Available:"):
        outer("reader=ovn")


def test_another_variant_does_not_inherit_settings():
    known = config.to_dict(outer("reader.name=bert"))
    changed = config.merged(known, config.assignments(["reader=own"]))
    assert config.from_dict(Outer, changed).reader == Own()


def test_an_optional_group_is_off_until_one_of_its_settings_is_given():
    assert Outer().averaging is None
    assert outer("averaging.rounds=7").averaging == Inner(rounds=7)
    known = config.to_dict(outer("averaging.rounds=7"))
    off = config.merged(known, config.assignments(["averaging=none"]))
    assert config.from_dict(Outer, off).averaging is None


def test_a_listing_names_the_variants_and_hides_nothing():
    rows = {row.name: row for row in config.settings_of(outer("reader=own"))}
    assert rows["reader.type"].type == "pretrained | own"
    assert rows["reader.type"].default == "own"
    assert rows["reader.size"].about == "how large"
    assert rows["averaging"].default is None


# Settings without effect
@dataclass(frozen=True)
class Ranker:
    """Has a setting that another one switches off."""

    tree: bool = config.setting(True, "rank by a tree")
    beam: int = config.setting(10, "nodes per level")

    def without_effect(self):
        if not self.tree and self.beam != 10:
            yield "beam", "there is no tree (tree=False)"


@dataclass(frozen=True)
class Both:
    """Holds it."""

    ranker: Ranker = config.group(Ranker, "how labels are ranked")


def test_settings_without_effect_are_named_with_the_reason():
    assert list(config.without_effect(Both(Ranker(tree=True, beam=5)))) == []
    assert list(config.without_effect(Both(Ranker(tree=False, beam=5)))) == [
        "ranker.beam has no effect: there is no tree (tree=False)"
    ]
