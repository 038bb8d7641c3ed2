"""The keywords of reading are listed once; who repeats them for readers of the code agrees."""

import inspect
from dataclasses import MISSING, fields

import click

from xmtc.cli.data_options import reading_options
from xmtc.core.provenance import Provenance, Reading
from xmtc.data.options import ReadOptions
from xmtc.data.read import read_dataset


def test_the_signature_of_read_dataset_is_that_of_its_options():
    keywords = dict(inspect.signature(read_dataset).parameters)
    del keywords["path"]
    del keywords["bad"]  # None there: a collector that is made for this reading
    options = {field.name: field.default for field in fields(ReadOptions) if field.name != "bad"}
    assert {name: keyword.default for name, keyword in keywords.items()} == options
    assert MISSING not in options.values()


def test_the_command_line_has_an_option_for_each_keyword_that_a_model_remembers():
    command = click.command(reading_options(lambda **_: None))
    assert {option.name for option in command.params} == {f.name for f in fields(Reading)} - {
        "split"
    }
    assert all(option.help for option in command.params)


def test_a_model_remembers_how_its_data_was_read():
    reading = {"split": "test", "format": "csv", "label_separator": "", "skip_bad": True}
    remembered = Provenance(path="a.csv", **reading).reading()
    assert reading.items() <= remembered.items()
    assert remembered.keys() == {field.name for field in fields(Reading)}
    assert remembered.keys() <= inspect.signature(read_dataset).parameters.keys()
