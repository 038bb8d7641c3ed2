"""Writes the generated parts of the docs: command line, settings, tables (`make docs`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import pages as measured

from xmtc.cli.app import COMMANDS, app
from xmtc.core.config import Setting, settings_of
from xmtc.models.catalog import KINDS, RECIPES, module_of

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def main() -> None:
    """Write every page that is not up to date."""
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


def pages() -> dict[Path, str]:
    """The text that each generated page should have now."""
    found = {DOCS / "cli.md": command_line_page()}

    def fill(path: Path, mark: str, text: str) -> None:
        page = found.get(path) or path.read_text(encoding="utf-8")
        found[path] = filled(page, mark, text)

    for (page, mark), text in measured.texts().items():
        fill((DOCS / page).resolve(), mark, text)
    for folder, kinds in (("models", tuple(KINDS)), ("how-to", tuple(RECIPES))):
        for kind in kinds:
            fill(DOCS / folder / f"{kind}.md", f"settings: {kind}", settings_tables(kind))
    return found


def command_line_page() -> str:
    """The help of every command."""
    parts = ["# The command line\n", "Written by `make docs` from `xmtc --help`.\n"]
    for path, command in commands():
        title = " ".join(["xmtc", *path])
        context = click.Context(
            command, info_name=title, terminal_width=80, help_option_names=["-h", "--help"]
        )
        parts.append(f"## {title}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def settings_tables(kind: str) -> str:
    """The settings of a kind; below, those that exist for a paper's code or an ablation."""
    rows = [
        row
        for row in settings_of(module_of(kind).Config())
        if kind in KINDS or row.name.partition(".")[0] not in KINDS
    ]
    if not rows:
        return "There is nothing to set."
    shown = [row for row in rows if not row.published]
    published = [row for row in rows if row.published]
    text = settings_table(shown)
    if published:
        text += "\n\nFor a paper's code or an ablation:\n\n" + settings_table(published)
    return text


def settings_table(rows: Sequence[Setting]) -> str:
    """Name, type, default and meaning of each setting."""
    lines = ["| setting | type | default | what it does |", "|---|---|---|---|"]
    for row in rows:
        type_name = row.type.replace("|", "or")
        lines.append(f"| `{row.name}` | {type_name} | {row.default} | {row.about} |")
    return "\n".join(lines)


def commands() -> list[tuple[list[str], click.Command]]:
    """All commands, each with its words."""
    context = click.Context(app)
    found: list[tuple[list[str], click.Command]] = [([], app)]
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        found.append(([name], command))
        if isinstance(command, click.Group):
            found += [([name, inner], part) for inner, part in command.commands.items()]
    return found


def filled(page: str, mark: str, text: str) -> str:
    """The page with another text between the marks."""
    end = mark.partition(":")[0]
    pattern = rf"(<!-- {re.escape(mark)}[^\n]*-->\n).*?(<!-- /{re.escape(end)} -->)"
    if not re.search(pattern, page, re.DOTALL):
        raise SystemExit(f"a page lacks the marks <!-- {mark} --> and <!-- /{end} -->")
    body = f"{text}\n" if text else ""
    return re.sub(pattern, lambda match: match[1] + body + match[2], page, flags=re.DOTALL)


if __name__ == "__main__":
    main()
