"""What the docs say is true: code runs, links lead somewhere, generated pages are fresh."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from xmtc.core.config import settings_of
from xmtc.data.formats.jsonl import write_jsonl
from xmtc.data.planted import planted
from xmtc.models.catalog import KINDS, module_of

ROOT = Path(__file__).parents[1]
PAGES = [
    path for path in ROOT.rglob("*.md") if not {".venv", "venvs", "node_modules"} & set(path.parts)
]
WITH_CODE = [path for path in PAGES if "```python" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_code_in_the_docs_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in (
        "trn.jsonl",
        "trn.jsonl.gz",
        "tst.jsonl",
        "data/eurlex/tst.jsonl",
    ):  # pages read these
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(planted(), name)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(code, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_generated_pages_are_fresh():
    spec = importlib.util.spec_from_file_location("write_docs", ROOT / "scripts" / "write_docs.py")
    write_docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(write_docs)
    for path, text in write_docs.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale; run `make docs`"


def test_the_readme_puts_every_model_into_a_folder_of_its_own():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    folders = re.findall(r'xmtc\.save\(\w+, "([^"]+)"|--out (\S+)', readme)
    assert len(folders) >= 3
    assert len(set(folders)) == len({saved or out for saved, out in folders}) == len(folders)


def test_the_first_table_of_the_readme_has_figures_of_the_measured_one():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    top, measured = readme.split("<!-- results")[:2]
    rows = {
        line.split("|")[1]: {cell.strip() for cell in line.split("|")}
        for line in measured.partition("<!-- /results")[0].splitlines()
        if line.startswith("|")
    }
    table = re.search(r"\| eurlex57k.*?\n\n", top, re.DOTALL)[0]
    shown = [line for line in table.splitlines()[2:] if line]
    assert len(shown) == 4
    for line in shown:
        assert {cell.strip() for cell in line.split("|")} <= rows[line.split("|")[1]], line


def test_every_model_has_a_page():
    for kind in KINDS:
        assert (ROOT / "docs" / "models" / f"{kind}.md").exists()
        assert f"docs/models/{kind}.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_names_the_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme


def test_no_record_doc_or_test_names_a_folder_of_a_machine():
    folder = re.compile(r"(?<![\w.\-])/(work|tmp|root|home)/|\.\./shared")
    files = [*(ROOT / "benchmarks" / "records").glob("*.jsonl"), *ROOT.glob("*.md")]
    for name in ("docs", "benchmarks", "tests", "scripts"):
        for suffix in ("md", "py", "toml"):
            files += (ROOT / name).rglob(f"*.{suffix}")
    for path in (*files, ROOT / "Makefile"):
        if path.name != Path(__file__).name and "venvs" not in path.parts:
            assert not folder.search(path.read_text(encoding="utf-8")), path.name


ABOUT_CODE = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md"]
ABOUT_CODE += (ROOT / "docs/decisions").glob("*.md")
PATH = re.compile(r"`([\w./]*[a-z]\w*(?:\.(?:py|toml|csv)|/))`")
FOLDERS = (".", "src/xmtc", "src/xmtc/neural", "benchmarks")


def found(path):
    return [ROOT / folder / path for folder in FOLDERS if (ROOT / folder / path).exists()]


@pytest.mark.parametrize("page", ABOUT_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_the_names_in_them_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in PATH.findall(text):
        if not re.search(r"NAME|KIND|^(cache|checkpoints|peers/venvs)/", path):
            assert found(path), f"{page.name} names {path}"
    for name, path in re.findall(r"`(\w+)`\s+(?:of|in)\s+`([\w/]+\.py)`", text):
        code = found(path)[0].read_text(encoding="utf-8")
        assert re.search(rf"^(def |class )?{name}\b", code, re.MULTILINE), f"no {name} in {path}"


def test_settings_in_the_docs_are_settings_of_some_kind():
    every = [row.name for kind in KINDS for row in settings_of(module_of(kind).Config())]
    sources = "".join(path.read_text() for path in (ROOT / "src/xmtc").rglob("*.py"))
    fields = set(re.findall(r"^    (\w+): .* = (?:setting|group)\(", sources, re.MULTILINE))
    groups = {name.partition(".")[0] for name in every if "." in name}
    variants = {"encoder", "ranker", "index"}  # unions, of which `every` has the default only
    for page in PAGES:
        for name in re.findall(
            r"`((?:[a-z_]+\.)+(?!py|toml|md|csv)[a-z_]+)(?:=[^`]*)?`", page.read_text()
        ):
            first, last = name.split(".")[0], name.split(".")[-1]
            if first in variants:
                assert last in fields | {"type", "name"}, f"{page.name}: no setting {name}"
            elif first in groups:
                known = any(f".{each}".endswith(f".{name}") for each in every)
                assert known, f"{page.name}: no setting {name}"
