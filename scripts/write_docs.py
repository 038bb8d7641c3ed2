"""Writes the generated pages: docs/cli.md, settings tables, the table in README (`make docs`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from xmtc.cli.app import COMMANDS, app
from xmtc.core.config import settings_of
from xmtc.models.catalog import KINDS, module_of

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "benchmarks" / "results" / "quality_demo.jsonl"


def main() -> None:
    """Write every page that is not up to date."""
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


def pages() -> dict[Path, str]:
    """What each generated page should say now."""
    models = {ROOT / "docs" / "models" / f"{kind}.md": kind for kind in KINDS}
    return {
        ROOT / "docs" / "cli.md": command_line_page(),
        ROOT / "README.md": _fill(ROOT / "README.md", "demo table", demo_table()),
        **{
            path: _fill(path, f"settings: {kind}", settings_table(kind), "settings")
            for path, kind in models.items()
        },
    }


def command_line_page() -> str:
    """The help of every command."""
    parts = ["# The command line\n", "Written by `make docs` from `xmtc --help`.\n"]
    for path, command in _commands():
        title = " ".join(["xmtc", *path])
        context = click.Context(
            command, info_name=title, terminal_width=80, help_option_names=["-h", "--help"]
        )
        parts.append(f"## {title}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def settings_table(kind: str) -> str:
    """Name, default and meaning of each setting of a kind."""
    rows = list(settings_of(module_of(kind).Config()))
    if not rows:
        return "There is nothing to set."
    lines = ["| setting | type | default | what it does |", "|---|---|---|---|"]
    for row in rows:
        type_name = row.type.replace("|", "or")
        lines.append(f"| `{row.name}` | {type_name} | {row.default} | {row.about} |")
    return "\n".join(lines)


def demo_table() -> str:
    """The newest recorded run of `xmtc demo`."""
    if not DEMO.exists():
        return ""
    record: dict[str, Any] = json.loads(DEMO.read_text(encoding="utf-8").splitlines()[-1])
    rows = record["measurements"]
    columns = [name for name in rows[0] if name != "model"]
    lines = ["| Debian packages, test set | " + " | ".join(columns) + " |"]
    lines.append("|---|" + "---|" * len(columns))
    lines += [
        f"| `{row['model']}` | " + " | ".join(str(row[c]) for c in columns) + " |" for row in rows
    ]
    machine = record["machine"]
    return "\n".join(lines) + (
        f"\n\n*`{record['command']}`, commit {record['commit'][:9]}, {record['date'][:10]}, "
        f"{machine['cores']} cores of {machine['cpu']}, seed {record['seed']}.*"
    )


def _commands() -> list[tuple[list[str], click.Command]]:
    context = click.Context(app)
    found: list[tuple[list[str], click.Command]] = [([], app)]
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        found.append(([name], command))
        if isinstance(command, click.Group):
            found += [([name, inner], part) for inner, part in command.commands.items()]
    return found


def _fill(path: Path, mark: str, text: str, end: str | None = None) -> str:
    """The page with what stands between its marks replaced."""
    page = path.read_text(encoding="utf-8")
    pattern = rf"(<!-- {re.escape(mark)}[^\n]*-->\n).*?(<!-- /{re.escape(end or mark)} -->)"
    if not re.search(pattern, page, re.DOTALL):
        raise SystemExit(f"{path} lacks the marks <!-- {mark} --> and <!-- /{end or mark} -->")
    body = f"{text}\n" if text else ""
    return re.sub(pattern, lambda match: match[1] + body + match[2], page, flags=re.DOTALL)


if __name__ == "__main__":
    main()
