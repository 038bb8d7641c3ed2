"""Saves small models of every kind, with their answers, for later versions to load.

Run with PYTHONPATH=src:tests/helpers. Folders that are there stay as they are.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import xmtc
from quick import training
from tiny import tiny_encoder
from xmtc.core.store import FORMAT
from xmtc.data.planted import planted
from xmtc.models.catalog import KINDS

HERE = Path(__file__).parent.resolve() / f"format{FORMAT}"
CNN = {"type": "cnn", "embedding_dim": 8, "max_tokens": 32}
TRAINED = training(epochs=30, encoder_lr=1e-2, head_lr=1e-2)
NEURAL = {"encoder": CNN, "training": TRAINED}
TREE = {**NEURAL, "training": {"epochs": 2}}
SMALL = {
    "lightxml": NEURAL,
    "gudn": {"encoder": {"name": "tiny", "max_tokens": 32}, "training": TRAINED},
    "aplc": {**NEURAL, "hidden": {"dim": 8}},
    "xbert": NEURAL,
    "xr_transformer": TREE,
    "xml_cnn": {
        "encoder": {
            "max_tokens": 32,
            "embedding_dim": 8,
            "filters": 8,
            "pools": 2,
            "hidden_dim": 8,
        },
        "training": TRAINED,
    },
    "label_attention": {**NEURAL, "hidden_dims": (8,), "max_flat_labels": 3, "max_leaf": 3},
}
# Other arrays in the folder than with the settings above: (kind, settings).
VARIANTS = {
    "lightxml_clusters": ("lightxml", {**NEURAL, "max_flat_labels": 3, "max_leaf": 3}),
    "linear_tree_float32": ("linear_tree", {"weight_type": "float32"}),
    "xr_transformer_tree": ("xr_transformer", {**TREE, "max_flat_labels": 0}),
}
TEXTS = ["sign0a sign1b", "sign3a alpha", "", "nothing known"]
SIZE = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}

os.chdir(tempfile.mkdtemp())  # so that the saved name of the encoder is no path of a machine
tiny_encoder(Path("tiny"), **SIZE)
for name, (kind, values) in ({kind: (kind, SMALL.get(kind)) for kind in KINDS} | VARIANTS).items():
    if not (HERE / name).exists():
        model = xmtc.train(kind, planted(texts=40, labels=6), values)
        xmtc.save(model, HERE / name)
        answers = [[[n, round(s, 5)] for n, s in row] for row in xmtc.predict(model, TEXTS, k=3)]
        (HERE / f"{name}.json").write_text(json.dumps({"texts": TEXTS, "answers": answers}))
