"""Saves small models of every kind, with their answers, for later versions to load.

The first linear_tree has float32 weights and plain feature numbers; later ones int8 and steps. The
first xr_transformer has a tree, which it has now only where labels are many.
"""

from __future__ import annotations

import json
from pathlib import Path

import xmtc
from xmtc.core.store import FORMAT
from xmtc.data.planted import planted
from xmtc.models.catalog import KINDS

HERE = Path(__file__).parent / f"format{FORMAT}"
NEURAL = {
    "encoder": {"type": "cnn", "embedding_dim": 8},
    "training": {"epochs": 30, "encoder_rate": 1e-2, "head_rate": 1e-2},
}
WORDS = {"max_tokens": 32, "width": 8}
SMALL = {
    "lightxml": NEURAL,
    "gudn": NEURAL,
    "aplc": {**NEURAL, "hidden": 8},
    "xbert": NEURAL,
    "xr_transformer": {**NEURAL, "training": {"epochs": 2}},
    "xml_cnn": {**NEURAL, "encoder": {**WORDS, "filters": 8, "pools": 2, "hidden": 8}},
    "label_attention": {
        **NEURAL,
        "encoder": WORDS,
        "hidden": (8,),
        "plain_up_to": 3,
        "max_cluster": 3,
    },
}
TEXTS = ["sign0a sign1b", "sign3a alpha", "", "nothing known"]

LATER = {"linear_tree_int8": "linear_tree", "xr_transformer_flat": "xr_transformer"}
SAVED = {kind: kind for kind in KINDS} | LATER  # folder -> kind

for name, kind in SAVED.items():
    if not (HERE / name).exists():
        model = xmtc.train(kind, planted(texts=40, labels=6), SMALL.get(kind))
        xmtc.save(model, HERE / name)
        answers = [[[n, round(s, 5)] for n, s in row] for row in xmtc.predict(model, TEXTS, k=3)]
        (HERE / f"{name}.json").write_text(json.dumps({"texts": TEXTS, "answers": answers}))
