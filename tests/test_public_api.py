"""What a user imports: it is all there, quick to import, and never brings torch along."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import xmtc


def in_fresh_python(code):
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


@pytest.mark.parametrize("name", xmtc.__all__)
def test_every_public_name_exists(name):
    assert getattr(xmtc, name) is not None
    assert name in dir(xmtc)


def test_type_checkers_are_told_the_same_names():
    stub = Path(xmtc.__file__).with_suffix(".pyi").read_text()
    exported = set(re.findall(r" as (\w+)", stub)) | set(re.findall(r"^(\w+):", stub, re.M))
    assert exported == set(xmtc.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        xmtc.trian  # noqa: B018


@pytest.mark.parametrize("module", ["torch", "numba", "sklearn", "matplotlib", "rich"])
def test_importing_xmtc_does_not_import(module):
    assert in_fresh_python(f"import sys, xmtc; print({module!r} in sys.modules)") == "False"


def test_no_public_name_but_the_neural_models_imports_torch():
    code = (
        "import sys, xmtc\n"
        "for name in xmtc.__all__: getattr(xmtc, name)\n"
        "print('torch' in sys.modules)"
    )
    assert in_fresh_python(code) == "False"


def test_reading_data_does_not_import_numba():
    code = "import sys, xmtc; xmtc.read_dataset; print('numba' in sys.modules)"
    assert in_fresh_python(code) == "False"


def test_help_does_not_import_what_is_slow():
    code = (
        "import sys\n"
        "from xmtc.cli.app import run\n"
        "assert run(['--help']) == 0\n"
        "slow = {'numpy', 'scipy', 'numba', 'rich', 'torch'} & set(sys.modules)\n"
        "print('slow:', sorted(slow))"
    )
    assert in_fresh_python(code).endswith("slow: []")


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert xmtc.__version__ == version("xmtc")
