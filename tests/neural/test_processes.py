"""Two processes that train together do what one does with the same batches."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from quick import quick_settings

PROGRAM = """
import json, sys
import xmtc
from xmtc.data.planted import planted
settings = json.loads(sys.argv[1])
xmtc.set_threads(1)
xmtc.train("lightxml", planted(texts=33), settings, run=sys.argv[2])
"""


def settings_of(clusters):
    quick = quick_settings("lightxml", dropout=0.0)
    quick["training"] = {**quick["training"], "epochs": 2, "batch": 8}
    return {**quick, **({"plain_up_to": 4, "max_cluster": 4, "beam": 2} if clusters else {})}


def losses(folder, settings, processes):
    command = [sys.executable, "-c", PROGRAM, json.dumps(settings), str(folder)]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(processes)}
    children = [
        subprocess.Popen(command, env={**os.environ, **common, "RANK": str(rank)})
        for rank in range(processes)
    ]
    assert [child.wait(timeout=240) for child in children] == [0] * processes
    lines = map(json.loads, (Path(folder) / "log.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if "loss" in line]


@pytest.mark.parametrize("clusters", [False, True], ids=["plain", "clusters"])
def test_two_processes_have_the_losses_of_one(tmp_path, clusters):
    settings = settings_of(clusters)
    one, two = (losses(tmp_path / str(n), settings, n) for n in (1, 2))
    assert len(one) == 10  # 33 texts: the last step of an epoch has one text, for one process
    assert two == pytest.approx(one, rel=1e-3)
