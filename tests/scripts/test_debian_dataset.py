"""The Debian data set: what becomes a text, what becomes a label, and which side it goes to."""

from __future__ import annotations

import gzip
import importlib.util
import json
import lzma
import sys
from itertools import count, islice
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "debian_dataset.py"


def load_script():
    spec = importlib.util.spec_from_file_location("debian_dataset", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


dataset = load_script()


def sources(test, number):
    """Names of source packages that go to one side."""
    names = (f"source{i}" for i in count())
    return list(islice((name for name in names if dataset.in_test(name) == test), number))


TRAIN, TRAIN_TOO = sources(test=False, number=2)
TEST, TEST_TOO = sources(test=True, number=2)


class Lists:
    """Packages and Translation-en files, written one package at a time."""

    def __init__(self, folder):
        self.folder = folder
        self.packages = []
        self.translations = []
        for name in ("liba", "libb", "libc6"):
            self.add(name, TRAIN, f"library {name}.")

    def add(self, name, source, description, **fields):
        md5 = f"{name}-{len(self.packages)}"  # one of a kind is all that matters
        short = description.partition("\n")[0]
        lines = [f"Package: {name}", f"Source: {source} (1.0-1)", f"Description: {short}"]
        lines += [f"{field.replace('_', '-')}: {value}" for field, value in fields.items()]
        self.packages.append("\n".join([*lines, f"Description-md5: {md5}"]))
        self.translations.append(
            f"Package: {name}\nDescription-md5: {md5}\nDescription-en: {description}"
        )
        return self

    def write(self):
        self.folder.mkdir(exist_ok=True)
        packages = self.folder / "Packages"
        translation = self.folder / "Translation-en"
        packages.write_text("\n\n".join(self.packages) + "\n", encoding="utf-8")
        translation.write_text("\n\n".join(self.translations) + "\n", encoding="utf-8")
        return packages, translation

    def split(self):
        return dataset.build(dataset.read_lists(*self.write(), release=None))

    def run(self, out, *more):
        packages, translation = self.write()
        given = ["--packages", packages, "--translation", translation, "--out", out, *more]
        return dataset.main([str(word) for word in given])


@pytest.fixture
def lists(tmp_path):
    """liba is on both sides, so that it is never a rare label."""
    lists = Lists(tmp_path / "lists")
    lists.add("plain-train", TRAIN, "a train text", Depends="liba")
    return lists.add("plain-test", TEST, "a test text", Depends="liba")


def rows(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def labels_of(split, text):
    return next(row.labels for row in split.train + split.test if row.text == text)


def test_wrapped_lines_and_paragraphs_become_one_line(lists):
    long = "tool\n wraps a\n line.\n .\n New  paragraph:\n  * été\u2028item"
    split = lists.add("tool", TRAIN, long, Depends="liba").split()
    assert labels_of(split, "tool. wraps a line. New paragraph: * été item") == ("liba",)


@pytest.mark.parametrize("short", ["already ends.", "really?", "yes!"])
def test_a_short_line_that_ends_a_sentence_gets_no_second_full_stop(lists, short):
    split = lists.add("tool", TRAIN, f"{short}\n long", Depends="liba").split()
    assert labels_of(split, f"{short} long") == ("liba",)


def test_a_text_without_translation_is_the_description_in_packages(lists):
    lists.add("tool", TRAIN, "short only", Depends="liba").translations.pop()
    assert labels_of(lists.split(), "short only.") == ("liba",)


def test_a_continued_field_is_read_to_its_end():
    assert dataset.fields("Depends: a,\n b,\n\tc\nTag: x") == {
        "Depends": "a,\n b,\n\tc",
        "Tag": "x",
    }


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("", []),
        ("liba", ["liba"]),
        ("liba (>= 1.2~rc1), libb", ["liba", "libb"]),
        ("liba(>= 1.2)", ["liba"]),
        ("liba | libb, libstdc++6", ["liba", "libstdc++6"]),
        ("python3:any (>= 3.9~), perl:amd64", ["python3", "perl"]),
        ("libboost1.74-dev\n, gir1.2-gtk-3.0", ["libboost1.74-dev", "gir1.2-gtk-3.0"]),
    ],
)
def test_a_choice_gives_its_first_name_without_version_and_architecture(field, names):
    assert list(dataset.first_choices(field)) == names


def test_labels_come_from_all_three_fields_sorted_and_once(lists):
    lists.add("rest", TEST, "rest", Depends="libb, plain-test")
    needs = {"Pre_Depends": "plain-test", "Depends": "libb", "Recommends": "liba, libb"}
    split = lists.add("tool", TRAIN, "tool", **needs).split()
    assert labels_of(split, "tool.") == ("liba", "libb", "plain-test")


def test_labels_are_other_real_packages_that_not_everybody_needs(lists):
    for name in ("tool", "tool-too"):
        lists.add(name, TRAIN, name, Depends="liba, libc6, virtual-package, tool")
    split = lists.split()
    assert labels_of(split, "tool.") == ("liba",)


def test_a_label_of_one_text_only_is_dropped_and_so_is_a_text_without_labels(lists):
    lists.add("lonely", TRAIN, "needs what no other package needs", Depends="libb")
    split = lists.split()
    texts = {row.text for row in split.train + split.test}
    assert texts == {"a train text.", "a test text."}
    assert "libb" not in dataset.texts_per_label(split.train + split.test)


def test_packages_of_one_source_are_on_one_side(lists):
    for source in (TRAIN, TRAIN_TOO, TEST, TEST_TOO):
        for i in range(5):
            lists.add(f"{source}-{i}", source, f"{source} part {i}", Depends="liba")
    split = lists.split()
    trained = {row.text.split()[0] for row in split.train if "part" in row.text}
    tested = {row.text.split()[0] for row in split.test if "part" in row.text}
    assert (trained, tested) == ({TRAIN, TRAIN_TOO}, {TEST, TEST_TOO})


def test_about_a_fifth_of_the_sources_is_test():
    share = sum(dataset.in_test(f"source{i}") for i in range(5000)) / 5000
    assert 0.18 < share < 0.22


def test_a_text_on_both_sides_stays_in_test_only(lists):
    lists.add("one", TRAIN, "Same text\n here", Depends="liba")
    split = lists.add("two", TEST, "same\ttext\n HERE", Depends="liba").split()
    assert "same text. HERE" in {row.text for row in split.test}
    assert {row.text for row in split.train} == {"a train text."}


def test_two_packages_with_one_text_become_one_text_with_the_labels_of_both(lists):
    lists.add("rest", TEST, "rest", Depends="libb")
    lists.add("one", TRAIN, "same text", Depends="liba")
    split = lists.add("two", TRAIN, "Same text", Depends="libb").split()
    assert [row for row in split.train if row.text.casefold() == "same text."] == [
        dataset.Row("same text.", ("liba", "libb"))
    ]


def test_many_packages_with_one_text_give_it_the_labels_that_half_of_them_have(lists):
    lists.add("rest", TEST, "rest", Depends="libb")
    for name, needs in (("one", "liba"), ("two", "liba, libb"), ("three", "liba")):
        lists.add(name, TRAIN, "same text", Depends=needs)
    assert labels_of(lists.split(), "same text.") == ("liba",)


def test_of_two_versions_of_a_package_the_first_is_taken(lists):
    lists.add("tool", TRAIN, "the first", Depends="liba")
    split = lists.add("tool", TRAIN, "the second", Depends="liba").split()
    assert "the second." not in {row.text for row in split.train}


def test_the_same_lists_give_the_same_bytes_in_any_order(lists, tmp_path):
    lists.run(tmp_path / "one")
    lists.packages.reverse()
    lists.translations.reverse()
    lists.run(tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_the_files_hold_texts_labels_and_what_the_labels_mean(lists, tmp_path):
    lists.add("tool", TRAIN, "Werkzeug für ½", Depends="liba, plain-test")
    lists.add("zool", TEST, "zool", Depends="plain-test")
    assert lists.run(tmp_path) == 0
    assert rows(tmp_path / "trn.jsonl.gz") == [
        {"text": "a train text.", "labels": ["liba"]},
        {"text": "Werkzeug für ½.", "labels": ["liba", "plain-test"]},
    ]
    assert rows(tmp_path / "tst.jsonl.gz") == [
        {"text": "a test text.", "labels": ["liba"]},
        {"text": "zool.", "labels": ["plain-test"]},
    ]
    assert rows(tmp_path / "labels.jsonl.gz") == [
        {"label": "liba", "text": "library liba."},
        {"label": "plain-test", "text": "a test text"},
    ]


def test_gzip_carries_no_time_and_no_file_name():
    header = dataset.zipped(["text"])[:10]
    assert header[3] == 0  # no optional fields
    assert header[4:8] == bytes(4)  # no time


def test_the_readme_tells_release_and_figures(lists, tmp_path):
    release = tmp_path / "InRelease"
    release.write_text(
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n"
        "Codename: bookworm\nVersion: 12.3\nDate: Sat, 10 Jun 2023 08:53:33 UTC\n"
    )
    lists.run(tmp_path / "out", "--release", release)
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "Debian 12.3, lists dated Sat, 10 Jun 2023" in readme
    assert "| texts, train / test | 1 / 1 |" in readme
    assert "| labels, all / in train / in test | 1 / 1 / 1 |" in readme


def test_figures_count_test_labels_that_train_never_shows():
    train = [dataset.Row("a b", ("x",)), dataset.Row("c", ("x", "y"))]
    test = [dataset.Row("d", ("x", "z")), dataset.Row("e", ("z", "w"))]
    told = dict(dataset.figures(dataset.Split(train, test)))
    assert told["test labels never in train"] == "2"
    assert told["their share of all relevant labels in test"] == "75.00%"
    assert told["train texts per label, mean / median"] == "1.50 / 1.50"
    assert told["labels with one train text"] == "1"
    assert told["most frequent in train"] == "x (2), y (1)"


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_compressed_list_reads_like_a_plain_one(tmp_path, ending, pack):
    path = tmp_path / f"Packages{ending}"
    path.write_bytes(pack("Package: é\n".encode()))
    assert dataset.read_text(path) == "Package: é\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [("Packages.gz", b"plain"), ("Packages.xz", b"plain"), ("Packages", b"\xff\xfe")],
)
def test_an_unreadable_list_is_named_in_the_error(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(dataset.DatasetError, match=name):
        dataset.read_text(tmp_path / name)


def test_a_file_that_is_no_list_is_refused(lists, tmp_path, capsys):
    page = tmp_path / "page.html"
    page.write_text("<html>not found</html>")
    packages, _ = lists.write()
    assert dataset.main(["--packages", str(packages), "--translation", str(page)]) == 2
    assert "page.html: no entry has a 'Description-en:' line" in capsys.readouterr().err


def test_too_few_packages_for_both_sides_are_refused(tmp_path, capsys):
    assert Lists(tmp_path / "lists").run(tmp_path / "out") == 2
    assert "0 texts for train and 0 for test" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_list_without_the_other_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        dataset.main(["--packages", "Packages"])
    assert stop.value.code == 2
    assert "--packages and --translation go together" in capsys.readouterr().err


def test_without_apt_one_sentence_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dataset.main(["--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert "no apt-get on this machine" in told
    assert "--packages FILE --translation FILE" in told
    assert "Traceback" not in told


def test_when_apt_brings_nothing_its_own_words_are_passed_on(monkeypatch, tmp_path, capsys):
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\necho 'W: no network' >&2\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dataset.main(["--out", str(tmp_path / "out")]) == 2
    assert "Its output: W: no network" in capsys.readouterr().err


def test_apt_stays_away_from_the_system(tmp_path):
    config = dataset.private_apt(tmp_path).read_text()
    for key in ("Dir::State::lists", "Dir::State::status", "Dir::Cache"):
        assert f'{key} "{tmp_path}/' in config
    assert "#clear APT::Update;" in config
