"""Build the data set that ships with xmtc: Debian package descriptions -> the packages they need.

    python scripts/debian_dataset.py    # asks apt for the lists, writes src/xmtc/data/debian/

The same lists give the same bytes. The system's own apt lists are neither read nor changed.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

CODENAME = "bookworm"
COMPONENT = "main"
ARCHITECTURE = "amd64"
NEED_FIELDS = ("Depends", "Pre-Depends", "Recommends")
TOO_COMMON = frozenset({"libc6", "libstdc++6", "libgcc-s1"})  # nearly every compiled package
MIN_TEXTS_PER_LABEL = 2
TEST_SHARE = 5  # one source package in five goes to test
OUT = Path(__file__).resolve().parent.parent / "src" / "xmtc" / "data" / "debian"
BY_HAND = "pass --packages FILE --translation FILE"

PACKAGE_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")

Stanza = dict[str, str]


class DatasetError(Exception):
    """Something the user can put right; the message says how."""


@dataclass(frozen=True)
class Archive:
    """Debian's lists, parsed."""

    packages: dict[str, Stanza]  # by name
    descriptions: dict[str, str]  # by Description-md5: the short line, then the long lines
    release: Stanza  # empty when no Release file was given


@dataclass(frozen=True)
class Row:
    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Split:
    train: list[Row]
    test: list[Row]


def main(arguments: list[str] | None = None) -> int:
    options = read_options(arguments)
    try:
        archive = read_given_lists(options) if options.packages else fetch_lists()
        write(options.out, archive, build(archive))
    except DatasetError as error:
        print(f"debian_dataset: {error}", file=sys.stderr)
        return 2
    return 0


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build src/xmtc/data/debian/.")
    lists = "plain, .gz or .xz; default: fetched with apt"
    parser.add_argument("--packages", type=Path, help=f"Debian's Packages file ({lists})")
    parser.add_argument("--translation", type=Path, help=f"Debian's Translation-en file ({lists})")
    parser.add_argument("--release", type=Path, help="its Release or InRelease file, for the date")
    parser.add_argument("--out", type=Path, default=OUT, help=f"default: {OUT}")
    options = parser.parse_args(arguments)
    if (options.packages is None) != (options.translation is None):
        parser.error("--packages and --translation go together: give both, or none to use apt")
    if options.release and not options.packages:
        parser.error("--release goes with --packages and --translation; apt brings its own")
    return options


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# Reading the lists


def read_given_lists(options: argparse.Namespace) -> Archive:
    say(f"reading {options.packages} and {options.translation}")
    return read_lists(options.packages, options.translation, options.release)


def read_lists(packages: Path, translation: Path, release: Path | None) -> Archive:
    return Archive(
        packages_by_name(stanzas_with("Package", packages)),
        {
            stanza.get("Description-md5", ""): stanza["Description-en"]
            for stanza in stanzas_with("Description-en", translation)
        },
        stanzas_with("Codename", release)[0] if release else {},
    )


def packages_by_name(listed: list[Stanza]) -> dict[str, Stanza]:
    """In point releases a few names have two versions; the one listed first stands for both."""
    return {stanza["Package"]: stanza for stanza in reversed(listed)}


def stanzas_with(field: str, path: Path) -> list[Stanza]:
    found = [stanza for stanza in stanzas(read_text(path)) if field in stanza]
    if not found:
        raise DatasetError(
            f"{path}: no entry has a '{field}:' line. Give the file from Debian's archive, "
            "or leave the option out to fetch it with apt."
        )
    return found


def read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        elif path.suffix == ".xz":
            content = lzma.decompress(content)
        return content.decode("utf-8")
    except (OSError, EOFError, zlib.error, lzma.LZMAError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"cannot read {path}: {error}. Give a plain, .gz or .xz file."
        ) from error


def stanzas(text: str) -> Iterator[Stanza]:
    """Entries of a Debian control file: `Field: value`, continued on lines that start blank."""
    for block in text.split("\n\n"):
        yield fields(block)


def fields(block: str) -> Stanza:
    found: Stanza = {}
    name = ""
    for line in block.split("\n"):  # not splitlines(): descriptions hold Unicode line breaks
        if line.startswith((" ", "\t")):
            found[name] = found.get(name, "") + "\n" + line
        elif ":" in line:
            name, _, value = line.partition(":")
            found[name] = value.strip()
    return found


# Fetching the lists


def fetch_lists() -> Archive:
    """The lists of the machine's own apt sources, in a temporary directory."""
    if shutil.which("apt-get") is None:
        raise DatasetError(
            f"there is no apt-get on this machine. Run this on Debian, or {BY_HAND}."
        )
    with tempfile.TemporaryDirectory(prefix="debian_dataset-") as name:
        config = private_apt(Path(name))
        say(f"fetching {CODENAME} {COMPONENT} {ARCHITECTURE} with apt into {name}")
        message = apt_get(config, "update").stderr.strip().partition("\n")[0]
        packages = fetched(config, "Packages", message)
        translation = fetched(config, "Translations", message)
        say(f"reading {packages.name} and {translation.name}")
        return read_lists(packages, translation, release_next_to(packages))


def private_apt(home: Path) -> Path:
    """A configuration read after the machine's: its sources, but state and cache under `home`."""
    home.chmod(0o755)  # apt fetches as user _apt, who has to get in
    (home / "lists" / "partial").mkdir(parents=True)
    (home / "status").touch()
    config = home / "apt.conf"
    config.write_text(
        # Hooks after an update would refresh the system's caches.
        "#clear APT::Update;\n#clear APT::Architectures;\n#clear Acquire::Languages;\n"
        f'APT::Architecture "{ARCHITECTURE}";\nAPT::Architectures {{ "{ARCHITECTURE}"; }};\n'
        'Acquire::Languages { "en"; };\nAcquire::GzipIndexes "false";\n'
        f'Dir::State::lists "{home}/lists";\nDir::State::status "{home}/status";\n'
        f'Dir::Cache "{home}/cache";\n',
        encoding="utf-8",
    )
    return config


def apt_get(config: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["apt-get", "-c", str(config), *words],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,  # a broken third-party source fails the update, yet our lists may be there
    )


def fetched(config: Path, kind: str, message: str) -> Path:
    """Path of the list; only the base release, as updates and security change every day."""
    wanted = ["Origin: Debian", "Label: Debian", f"Codename: {CODENAME}", f"Component: {COMPONENT}"]
    targets = apt_get(
        config, "indextargets", "--format", "$(FILENAME)", f"Created-By: {kind}", *wanted
    )
    paths = targets.stdout.split("\n")
    if not paths[0]:
        raise DatasetError(
            f"apt brought no {kind} list for Debian {CODENAME} {COMPONENT}. Its output: "
            f"{message or 'nothing'}. Check the network and that the machine's apt sources "
            f"offer {CODENAME}, or {BY_HAND}."
        )
    return Path(paths[0])


def release_next_to(packages: Path) -> Path | None:
    prefix = packages.name.partition(f"_{COMPONENT}_binary-")[0]
    candidates = [packages.with_name(f"{prefix}_{name}") for name in ("InRelease", "Release")]
    return next((path for path in candidates if path.exists()), None)


# Building the rows


def build(archive: Archive) -> Split:
    say(f"choosing texts and labels of {len(archive.packages):,} packages")
    train: list[Row] = []
    test: list[Row] = []
    for stanza in sorted(archive.packages.values(), key=source_then_name):
        row = Row(text_of(stanza, archive.descriptions), needs(stanza, archive.packages))
        if row.labels:
            (test if in_test(source_of(stanza)) else train).append(row)
    return without_rare_labels(without_shared_texts(train, test))


def source_then_name(stanza: Stanza) -> tuple[str, str]:
    """Packages of one source side by side: gzip then saves 400 KB, as they share their text."""
    return source_of(stanza), stanza["Package"]


def text_of(stanza: Stanza, descriptions: dict[str, str]) -> str:
    """Short line, full stop, long description; on one line."""
    fallback = stanza.get("Description", "")
    full = descriptions.get(stanza.get("Description-md5", ""), fallback)
    short, *lines = [one_line(line) for line in full.split("\n")]
    ending = "" if short.endswith((".", "!", "?")) else "."
    paragraphs = [line for line in lines if line not in ("", ".")]  # " ." ends a paragraph
    return " ".join([short + ending, *paragraphs])


def one_line(text: str) -> str:
    return " ".join(text.split())


def needs(stanza: Stanza, packages: dict[str, Stanza]) -> tuple[str, ...]:
    """Names of the packages this one depends on or recommends, the first of each choice."""
    names = {name for field in NEED_FIELDS for name in first_choices(stanza.get(field, ""))}
    real = {name for name in names if name in packages}
    return tuple(sorted(real - TOO_COMMON - {stanza["Package"]}))


def first_choices(field: str) -> Iterator[str]:
    """`a (>= 1) | b, python3:any` -> a, python3."""
    for group in field.split(","):
        if match := PACKAGE_NAME.match(group.strip()):
            yield match.group()


def source_of(stanza: Stanza) -> str:
    """The source package's name; the field can carry a version: `gcc-defaults (1.203)`."""
    return stanza.get("Source", stanza["Package"]).split()[0]


def in_test(source: str) -> bool:
    """By source, as packages built from one source share most of their text."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % TEST_SHARE == 0


def without_shared_texts(train: list[Row], test: list[Row]) -> Split:
    """Each text once: merged on its own side, and out of train if test has it."""
    tested = merged(test)
    trained = {key: row for key, row in merged(train).items() if key not in tested}
    return Split(list(trained.values()), list(tested.values()))


def merged(rows: list[Row]) -> dict[str, Row]:
    """Case-folded text -> its first row, with the labels of `shared_labels`."""
    same_text: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        same_text[row.text.casefold()].append(row)
    return {key: Row(same[0].text, shared_labels(same)) for key, same in same_text.items()}


def shared_labels(same: list[Row]) -> tuple[str, ...]:
    """Labels that at least half of the packages with one text have.

    All labels would give "This is a transitional package" 43 of them, and GCC's cross compilers
    up to 174, and no reader could tell which. Two packages keep all labels of both.
    """
    texts = texts_per_label(same)
    return tuple(sorted(label for label, count in texts.items() if 2 * count >= len(same)))


def texts_per_label(rows: list[Row]) -> Counter[str]:
    return Counter(label for row in rows for label in row.labels)


def without_rare_labels(split: Split) -> Split:
    texts = texts_per_label(split.train + split.test)
    frequent = {label for label, count in texts.items() if count >= MIN_TEXTS_PER_LABEL}
    return Split(only_labels(split.train, frequent), only_labels(split.test, frequent))


def only_labels(rows: list[Row], labels: set[str]) -> list[Row]:
    """Rows with these labels only; a row without any is dropped."""
    narrowed = [
        Row(row.text, tuple(label for label in row.labels if label in labels)) for row in rows
    ]
    return [row for row in narrowed if row.labels]


# Writing


def write(out: Path, archive: Archive, split: Split) -> None:
    if not split.train or not split.test:
        raise DatasetError(
            f"{len(split.train)} texts for train and {len(split.test)} for test are left; both "
            "need some. Give the whole Packages file, not a part of it."
        )
    files = {
        "trn.jsonl.gz": zipped(row_lines(split.train)),
        "tst.jsonl.gz": zipped(row_lines(split.test)),
        "labels.jsonl.gz": zipped(label_lines(archive, split)),
    }
    files["README.md"] = readme(archive.release, split, files).encode()
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
        say(f"wrote {out / name} ({len(content):,} bytes)")


def zipped(lines: Iterable[str]) -> bytes:
    """Gzip without name and time, so that the same lines give the same bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write("".join(line + "\n" for line in lines).encode())
    return buffer.getvalue()


def row_lines(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps({"text": row.text, "labels": row.labels}, ensure_ascii=False)


def label_lines(archive: Archive, split: Split) -> Iterator[str]:
    """Each label with the one-line description of the package it names."""
    for label in sorted(texts_per_label(split.train + split.test)):
        full = archive.packages[label].get("Description", "")
        text = one_line(full.partition("\n")[0])
        yield json.dumps({"label": label, "text": text}, ensure_ascii=False)


def readme(release: Stanza, split: Split, files: dict[str, bytes]) -> str:
    return README.format(
        codename=CODENAME,
        component=COMPONENT,
        architecture=ARCHITECTURE,
        release=described(release),
        dropped=", ".join(sorted(TOO_COMMON)),
        min_texts=MIN_TEXTS_PER_LABEL,
        figures=table(figures(split)),
        files=table(
            (f"`{name}`", f"{len(content):,} bytes", f"`{hashlib.sha256(content).hexdigest()}`")
            for name, content in files.items()
        ),
    )


def described(release: Stanza) -> str:
    if not release:
        return "built from given files, without a Release file to date them"
    return f"Debian {release.get('Version', '?')}, lists dated {release.get('Date', '?')}"


def table(rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def figures(split: Split) -> Iterator[tuple[str, str]]:
    """The lines of the README's table."""
    train = texts_per_label(split.train)
    test = texts_per_label(split.test)
    yield "texts, train / test", slashed(len(split.train), len(split.test))
    yield "labels, all / in train / in test", slashed(len(train | test), len(train), len(test))
    per_text = slashed(labels_per_text(split.train), labels_per_text(split.test))
    yield "labels per text, train / test", per_text
    yield from label_figures(train, test)
    yield "words per text, mean / median / 95th percentile", word_figures(split.train + split.test)


def label_figures(train: Counter[str], test: Counter[str]) -> Iterator[tuple[str, str]]:
    """train, test: texts per label."""
    unseen = [count for label, count in test.items() if label not in train]
    counts = train.values()
    yield "train texts per label, mean / median", slashed(mean(counts), median(counts))
    yield "labels with one train text", f"{sum(count == 1 for count in counts):,}"
    yield "test labels never in train", f"{len(unseen):,}"
    yield "their share of all relevant labels in test", f"{sum(unseen) / test.total():.2%}"
    most = sorted(train.items(), key=lambda item: (-item[1], item[0]))[:5]
    yield "most frequent in train", ", ".join(f"{label} ({count:,})" for label, count in most)


def word_figures(rows: list[Row]) -> str:
    words = sorted(len(row.text.split()) for row in rows)
    return slashed(mean(words), median(words), words[len(words) * 95 // 100])


def labels_per_text(rows: list[Row]) -> float:
    return mean(len(row.labels) for row in rows)


def slashed(*numbers: float) -> str:
    return " / ".join(f"{x:,.2f}" if x % 1 else f"{x:,.0f}" for x in numbers)


README = """\
# Debian package descriptions -> the packages they need

Written by `scripts/debian_dataset.py`; run `make dataset` to build it again.

- Source: Debian's `Packages` and `Translation-en` lists, {codename} {component} {architecture},
  fetched by the apt client. Base release only, without its updates and security suites.
- Release: {release}.
- Licence: a description is part of its Debian source package and has that package's licence; all
  packages of Debian {component} are free by Debian's guidelines. They are not under xmtc's licence.
  The licences and authors of package NAME are in `/usr/share/doc/NAME/copyright` on a Debian
  system and on Debian's package pages.

## What is in it

- `trn.jsonl.gz`, `tst.jsonl.gz`: `{{"text": ..., "labels": [...]}}` a line, ordered by
  source package, then by package.
- `labels.jsonl.gz`: `{{"label": ..., "text": ...}}` a line; the text is the one-line description of
  the package which the label names.

A text is the short and the long description of a package, without its name. Its labels are the
packages in its Depends, Pre-Depends and Recommends (of a choice `a | b`, the first) that exist in
the archive. Left out: {dropped} (nearly all compiled packages need
them), labels with fewer than {min_texts} texts, and texts without labels.

## How it is split

By the source package: test if sha256(its name) is divisible by five, so all packages built from
one source are on one side. Exact duplicates, but for case and white space, are one text: it gets
the labels that at least half of its packages have. A text on both sides stays in test only.
Near duplicates remain: sources of a family (gcc-11, gcc-12) can be on different sides.

## Figures

| | |
|---|---|
{figures}

| file | size | sha256 |
|---|---|---|
{files}
"""


if __name__ == "__main__":
    sys.exit(main())
