"""`xmtc combine OUT MODEL1 MODEL2 ...`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click

from xmtc.cli.data_options import read, reading_options
from xmtc.cli.output import counted, json_option, megabytes, print_json, print_table
from xmtc.core.errors import ConfigError
from xmtc.models.ensemble.combine import How

if TYPE_CHECKING:
    from xmtc.models.ensemble.combine import LearnedWeights


@click.command("combine")
@click.argument("out", type=click.Path())
@click.argument("models", nargs=-1, required=True, type=click.Path())
@click.option(
    "--how",
    default="average",
    show_default=True,
    type=click.Choice(get_args(How)),
    help="How the members' rankings become one.",
)
@click.option(
    "--validation",
    "data",
    type=click.Path(),
    help="Labelled texts that no model was trained on, to learn weights from.",
)
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of `ensemble`, e.g. weights=0.7,0.3; repeatable.",
)
@click.option("--overwrite", is_flag=True, help="Replace a model that is already there.")
@click.option(
    "--split", default="validation", show_default=True, help="Which part of a data folder."
)
@reading_options
@json_option
def command(
    out: str,
    models: tuple[str, ...],
    how: str,
    data: str | None,
    pairs: tuple[str, ...],
    overwrite: bool,
    split: str,
    as_json: bool,
    **reading: Any,
) -> None:
    """Combine trained MODELS into one that is saved to the folder OUT, with its members inside.

    They may be of any kind and know different labels. With --validation each gets the weight that
    suits these texts best: never worse on them than equal weights, nor than one model alone.
    """
    from xmtc import api
    from xmtc.core import config, store
    from xmtc.models import ensemble

    if len(models) < 2:
        raise ConfigError(
            f"combine takes the folder for the result, here {out}, then two or more models; there "
            f"is only {models[0]}."
        )
    values = config.merged({"how": how}, config.assignments(pairs))
    settings = config.from_dict(ensemble.Config, values)
    store.check_target(out, overwrite)
    members = [api.load(model) for model in models]
    combined = ensemble.of(members, settings)
    found = None
    if data is not None:
        found = ensemble.learn_weights(members, read(data, split, **reading), settings)
        combined = ensemble.weighted(members, found.weights, settings)
    api.save(combined, out, overwrite)
    size = store.size_on_disk(out)
    result = {
        "folder": out,
        "members": len(combined.members),
        "labels": len(combined.labels),
        "how": settings.how,
        "bytes": size,
    }
    if as_json:
        if found:
            result |= {
                "weights": dict(zip(models, found.weights, strict=True)),
                "metric": settings.metric,
                "alone": dict(zip(models, found.alone, strict=True)),
                "equal_weights": found.equal,
                "these_weights": found.figure,
            }
        print_json(result)
        return
    if found:
        _print(found, models, settings.metric)
    click.echo(
        f"Combined {counted(len(combined.members), 'model')} with "
        f"{counted(len(combined.labels), 'label')} by {settings.how}; saved {megabytes(size)} to "
        f"{out}"
    )


def _print(found: LearnedWeights, models: tuple[str, ...], metric: str) -> None:
    rows = [
        [model, f"{weight:.2f}", f"{alone:.2f}"]
        for model, weight, alone in zip(models, found.weights, found.alone, strict=True)
    ]
    rows += [["with equal weights", "", f"{found.equal:.2f}"]]
    rows += [["with these weights", "", f"{found.figure:.2f}"]]
    print_table(["model", "weight", metric], rows, "On the validation texts, percent")
    dropped = [model for model, weight in zip(models, found.weights, strict=True) if not weight]
    if dropped:
        click.echo(f"Left out, because of weight 0: {', '.join(dropped)}")
