"""`xmtc explain MODEL "text"`"""

from __future__ import annotations

import re

import click

from xmtc.cli.output import json_option, print_json
from xmtc.core.escape import printable


@click.command("explain")
@click.argument("model", type=click.Path())
@click.argument("text")
@click.option(
    "-k",
    "k",
    default=3,
    show_default=True,
    type=click.IntRange(1),
    help="How many labels to explain.",
)
@click.option(
    "--path", "whole_path", is_flag=True, help="Every classifier on the way, not the last."
)
@json_option
def command(model: str, text: str, k: int, whole_path: bool, as_json: bool) -> None:
    """Show why MODEL gives TEXT its labels: words that speak for one are green, against it red."""
    from xmtc import api

    explanations = api.explain(api.load(model), text, k)
    if as_json:
        print_json([explanation.to_dict() for explanation in explanations])
        return
    for explanation in explanations:
        click.secho(f"{printable(explanation.label)}  {explanation.score:.3f}", bold=True, nl=False)
        by = explanation.path[-1].by
        click.echo(f"  explained by {by}" if by else "")
        shown = explanation.path if whole_path else explanation.path[-1:]
        for level, evidence in enumerate(shown):
            if whole_path:
                click.echo(f"  level {level + 1}, margin {evidence.margin:+.2f}")
            click.echo(f"  {_highlighted(text, dict(evidence.terms))}")
            strongest = [f"{printable(term)} {weight:+.2f}" for term, weight in evidence.terms[:8]]
            words = ", ".join(strongest) or "no word of the text is known here"
            click.echo(f"  {words}; without any word {evidence.bias:+.2f}\n")


def _highlighted(text: str, weights: dict[str, float]) -> str:
    """The text with the words that have a weight in colour; the strongest are bold."""
    single: dict[str, float] = {}
    for term, weight in weights.items():
        for word in term.split():  # a word speaks for itself and in the phrases that it is part of
            single[word] = single.get(word, 0.0) + weight
    words = {word.lower() for word in re.findall(r"\w+", text)}
    parts = {term: weight for term, weight in single.items() if term.lower() not in words}
    largest = max(map(abs, single.values()), default=0.0)

    def colour(match: re.Match[str]) -> str:
        word = match[0].lower()
        inside = sum(weight for part, weight in parts.items() if part in word)  # n-grams
        weight = single.get(match[0]) or single.get(word) or inside
        if not weight:
            return match[0]
        return click.style(
            match[0], fg="green" if weight > 0 else "red", bold=abs(weight) > largest / 2
        )

    return re.sub(r"\w+", colour, printable(text))
