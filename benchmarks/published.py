"""Reference: what the papers say their systems reach, on exactly the data sets they used.

Each figure names the table it is from: X-BERT (Chang et al. 2019), LightXML (Jiang et al. 2021),
APLC-XLNet (Ye et al. 2020), GUDN (Wang et al. 2022), the logs of released code, and for EURLEX57K
Chalkidis et al. 2019. A paper's table also quotes others' systems; such a figure is filed under the
paper that prints it, because papers disagree: DiSMEC's P@1 on Wiki-500K is 70.20 or 70.21, that of
Parabel 60.91, 68.52 or 68.70. Where a table has only gains over another system (X-BERT, Table 4:
over Parabel, in percent of its figure; GUDN, Table 4: over BERT, in points), so have we, under
names that say so; those of X-BERT on Eurlex-4K do not follow from its Table 3. Left out: matchers
alone (X-BERT, Table 2); P@1 with six clusters (APLC-XLNet, Figure 4); R@5 of linear runs (logs);
statistics but numbers of texts and labels; hours and sizes (LightXML, Table 6); and hearsay.

Data sets of one name are not one data set: there are three "Eurlex-4K". So figures are given for a
name with its numbers of training and test texts, and for nothing that merely looks alike. GUDN
prints the repository's statistics though its label file is LightXML's; they are filed as printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedSet:
    """A data set as a paper describes it."""

    name: str
    train_texts: int
    test_texts: int
    labels: int  # in training and test texts together


@dataclass(frozen=True)
class Published:
    """One row of a published table."""

    dataset: PublishedSet
    system: str
    metrics: dict[str, float]  # percent: "P@1", "R@5", ...; or a gain: "P@1 over BERT"
    source: str  # paper and table


def published(name: str, train_texts: int, test_texts: int) -> list[Published]:
    """Figures for this very data set, in the order of the papers; none if no paper used it.

    Case and signs in the name do not matter: "eurlex4k" is "Eurlex-4K".
    """
    asked = (_plain(name), train_texts, test_texts)
    return [
        row
        for row in FIGURES
        if (_plain(row.dataset.name), row.dataset.train_texts, row.dataset.test_texts) == asked
    ]


def relative_improvement(
    metrics: Mapping[str, float], baseline: Mapping[str, float]
) -> dict[str, float]:
    """100 (m - b) / b for every metric both have: X-BERT's Table 4 with Parabel as baseline.

    A metric for which the baseline scores 0 has no relative improvement and is left out.
    """
    return {
        name: 100 * (value - baseline[name]) / baseline[name]
        for name, value in metrics.items()
        if baseline.get(name)
    }


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


P = ("P@1", "P@3", "P@5")
P_AND_R = (*P, "R@1", "R@3", "R@5")
OVER_PARABEL = tuple(f"{name} over Parabel" for name in P)  # in percent of Parabel's figure
OVER_BERT = tuple(f"{name} over BERT" for name in P)  # in points

_OF_X_BERT = {  # it holds a tenth of the training texts out
    "Eurlex-4K": PublishedSet("Eurlex-4K", 13_905, 3_865, 3_714),
    "Wiki10-28K": PublishedSet("Wiki10-28K", 11_265, 5_732, 28_139),
    "AmazonCat-13K": PublishedSet("AmazonCat-13K", 1_067_616, 306_782, 13_234),
    "Wiki-500K": PublishedSet("Wiki-500K", 1_411_760, 676_730, 479_315),
}
_OF_LIGHTXML = {  # and of AttentionXML, X-Transformer and APLC-XLNet
    "Eurlex-4K": PublishedSet("Eurlex-4K", 15_449, 3_865, 3_956),
    "Wiki10-31K": PublishedSet("Wiki10-31K", 14_146, 6_616, 30_938),
    "AmazonCat-13K": PublishedSet("AmazonCat-13K", 1_186_239, 306_782, 13_330),
    "Amazon-670K": PublishedSet("Amazon-670K", 490_449, 153_025, 670_091),
    "Wiki-500K": PublishedSet("Wiki-500K", 1_779_881, 769_421, 501_008),
}
_OF_GUDN = {
    **_OF_LIGHTXML,
    "Eurlex-4K": PublishedSet("Eurlex-4K", 15_539, 3_809, 3_993),  # the repository's
    "Wiki-500K": PublishedSet("Wiki-500K", 1_813_391, 783_743, 501_070),
}
_EURLEX57K = {"EURLEX57K": PublishedSet("EURLEX57K", 45_000, 6_000, 4_271)}

_X_BERT: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "PD-Sparse": (79.97, 66.74, 55.50, 16.45, 40.18, 54.66),
        "fastText": (73.97, 62.25, 51.97, 15.07, 37.30, 51.05),
        "FastXML T=100": (76.17, 61.86, 50.75, 15.54, 37.01, 49.75),
        "Parabel T=1": (81.99, 68.89, 57.30, 16.76, 41.24, 56.26),
        "Parabel T=3": (82.48, 69.95, 58.49, 16.87, 41.98, 57.46),
        "X-BERT T=1": (83.29, 71.90, 60.28, 17.00, 43.15, 59.19),
        "X-BERT T=6": (86.31, 74.58, 62.59, 17.69, 44.86, 61.49),
    },
    "Wiki10-28K": {
        "PD-Sparse": (82.12, 71.00, 60.47, 5.04, 12.86, 18.04),
        "fastText": (65.28, 53.48, 45.36, 3.97, 9.62, 13.42),
        "FastXML T=100": (83.20, 68.68, 58.39, 5.03, 12.28, 17.13),
        "Parabel T=1": (82.76, 71.37, 62.24, 5.03, 12.82, 18.39),
        "Parabel T=3": (82.78, 71.70, 62.48, 5.02, 12.88, 18.46),
        "X-BERT T=1": (85.10, 73.73, 63.30, 5.22, 13.31, 18.70),
        "X-BERT T=6": (85.64, 75.16, 65.27, 5.23, 13.57, 19.30),
    },
    "AmazonCat-13K": {
        "PD-Sparse": (89.18, 69.95, 55.46, 25.44, 54.72, 67.55),
        "fastText": (81.56, 70.65, 58.35, 22.81, 54.36, 69.91),
        "FastXML T=100": (92.68, 77.17, 62.05, 26.44, 58.70, 73.18),
        "Parabel T=1": (90.75, 75.61, 60.99, 25.57, 57.35, 71.80),
        "Parabel T=3": (91.42, 76.34, 61.68, 25.82, 57.84, 72.53),
        "X-BERT T=1": (93.27, 78.72, 63.25, 26.47, 59.68, 74.21),
        "X-BERT T=6": (95.00, 80.46, 64.98, 27.09, 60.99, 76.05),
    },
    "Wiki-500K": {
        "fastText": (32.58, 23.00, 18.60, 10.67, 19.89, 25.30),
        "FastXML T=100": (43.46, 29.03, 22.12, 12.30, 21.87, 26.32),
        "Parabel T=1": (59.09, 39.70, 30.25, 18.05, 31.65, 37.64),
        "Parabel T=3": (60.91, 41.33, 31.67, 18.74, 33.21, 39.75),
        "X-BERT T=1": (64.12, 43.26, 32.88, 19.75, 34.41, 40.80),
        "X-BERT T=6": (67.80, 46.52, 35.73, 21.18, 37.46, 44.79),
    },
}
_LIGHTXML: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "DiSMEC": (83.21, 70.39, 58.73),
        "Parabel": (82.12, 68.91, 57.89),
        "Bonsai": (82.30, 69.55, 58.35),
        "XT": (79.17, 66.80, 56.09),
        "XML-CNN": (75.32, 60.14, 49.21),
        "AttentionXML": (87.12, 73.99, 61.92),
        "X-Transformer": (87.22, 75.12, 62.90),
        "LightXML": (87.63, 75.89, 63.36),
    },
    "AmazonCat-13K": {
        "DiSMEC": (93.81, 79.08, 64.06),
        "Parabel": (93.02, 79.14, 64.51),
        "Bonsai": (92.98, 79.13, 64.46),
        "XT": (92.50, 78.12, 63.51),
        "XML-CNN": (93.26, 77.06, 61.40),
        "AttentionXML": (95.92, 82.41, 67.31),
        "X-Transformer": (96.70, 83.85, 68.58),
        "LightXML": (96.77, 84.02, 68.70),
    },
    "Wiki10-31K": {
        "DiSMEC": (84.13, 74.72, 65.94),
        "Parabel": (84.19, 72.46, 63.37),
        "Bonsai": (84.52, 73.76, 64.69),
        "XT": (83.66, 73.28, 64.51),
        "XML-CNN": (81.41, 66.23, 56.11),
        "AttentionXML": (87.47, 78.48, 69.37),
        "X-Transformer": (88.51, 78.71, 69.62),
        "LightXML": (89.45, 78.96, 69.85),
    },
    "Wiki-500K": {
        "DiSMEC": (70.21, 50.57, 39.68),
        "Parabel": (68.70, 49.57, 38.64),
        "Bonsai": (69.26, 49.80, 38.83),
        "XT": (65.17, 46.32, 36.15),
        "AttentionXML": (76.95, 58.42, 46.14),
        "X-Transformer": (77.28, 57.47, 45.31),
        "LightXML": (77.78, 58.85, 45.57),
    },
    "Amazon-670K": {
        "DiSMEC": (44.78, 39.72, 36.17),
        "Parabel": (44.91, 39.77, 35.98),
        "Bonsai": (45.58, 40.39, 36.60),
        "XT": (42.54, 37.93, 34.63),
        "XML-CNN": (33.41, 30.00, 27.42),
        "AttentionXML": (47.58, 42.61, 38.92),
        "LightXML": (49.10, 43.83, 39.85),
    },
}
_APLC: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "SLEEC": (79.26, 64.30, 52.33),
        "AnnexML": (79.66, 64.94, 53.52),
        "DiSMEC": (82.40, 68.50, 57.70),
        "PfastreXML": (75.45, 62.70, 52.51),
        "Parabel": (81.73, 68.78, 57.44),
        "Bonsai": (83.00, 69.70, 58.40),
        "XML-CNN": (76.38, 62.81, 51.41),
        "AttentionXML (1 tree)": (85.84, 73.04, 60.69),
        "APLC-XLNet": (87.72, 74.56, 62.28),
    },
    "AmazonCat-13K": {
        "SLEEC": (90.53, 76.33, 61.52),
        "AnnexML": (93.55, 78.38, 63.32),
        "DiSMEC": (93.40, 79.10, 64.10),
        "PfastreXML": (91.75, 77.97, 63.68),
        "Parabel": (93.03, 79.16, 64.52),
        "Bonsai": (92.98, 79.13, 64.46),
        "XML-CNN": (93.26, 77.06, 61.40),
        "AttentionXML (1 tree)": (91.12, 74.94, 59.96),
        "APLC-XLNet": (94.68, 79.99, 64.78),
    },
    "Wiki10-31K": {
        "SLEEC": (85.88, 72.98, 62.70),
        "AnnexML": (86.50, 74.28, 64.19),
        "DiSMEC": (85.20, 74.60, 65.90),
        "PfastreXML": (83.57, 68.61, 59.10),
        "Parabel": (84.31, 72.57, 63.39),
        "Bonsai": (84.70, 73.60, 64.70),
        "XML-CNN": (84.06, 73.96, 64.11),
        "AttentionXML (1 tree)": (86.62, 77.89, 68.76),
        "APLC-XLNet": (89.44, 78.93, 69.73),
    },
    "Wiki-500K": {
        "SLEEC": (53.60, 34.51, 25.85),
        "AnnexML": (63.86, 40.66, 29.79),
        "DiSMEC": (70.20, 50.60, 39.70),
        "PfastreXML": (56.25, 37.32, 28.16),
        "Parabel": (68.52, 49.42, 38.55),
        "Bonsai": (69.20, 49.80, 38.80),
        "XML-CNN": (59.85, 39.28, 29.81),
        "AttentionXML (1 tree)": (65.02, 47.40, 36.84),
        "APLC-XLNet": (70.47, 47.92, 36.20),
    },
    "Amazon-670K": {
        "SLEEC": (35.05, 31.25, 28.56),
        "AnnexML": (42.08, 36.65, 32.76),
        "DiSMEC": (44.70, 39.70, 36.10),
        "PfastreXML": (39.46, 35.81, 33.05),
        "Parabel": (44.89, 39.80, 36.00),
        "Bonsai": (45.50, 40.30, 36.50),
        "XML-CNN": (35.39, 31.93, 29.32),
        "AttentionXML (1 tree)": (45.70, 40.69, 36.92),
        "APLC-XLNet": (42.19, 37.47, 33.89),
    },
}
_X_BERT_TABLE_2: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "X-linear, ELMo": (79.84, 67.70, 56.30),
        "X-ttention, ELMo": (83.00, 69.81, 58.10),
        "X-BERT, ELMo": (83.29, 71.90, 60.28),
        "X-linear, PIFA": (81.19, 68.86, 57.51),
        "X-ttention, PIFA": (82.82, 70.25, 58.59),
        "X-BERT, PIFA": (82.95, 70.91, 59.50),
    },
}
_X_BERT_TABLE_4: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "X-BERT": (4.78, 6.46, 6.79),
        "X-ttention": (2.39, 4.19, 3.74),
        "SLICE": (4.27, 3.34, 3.11),
        "AttentionXML": (0.91, 2.09, 0.86),
        "ProXML": (3.86, 2.90, 2.43),
        "Bonsai": (0.97, 1.46, 1.57),
        "PPD-Sparse": (1.92, 2.93, 2.92),
        "DiSMEC": (1.73, 2.90, 2.80),
        "PfastreXML": (-8.27, -8.75, -8.73),
        "XML-CNN": (-7.14, -8.59, -10.64),
        "fastText": (-3.04, -4.59, -5.11),
        "SLEEC": (-3.53, -6.40, -9.04),
    },
    "Wiki-500K": {
        "X-BERT": (11.31, 12.56, 12.82),
        "X-ttention": (9.05, 10.16, 10.17),
        "SLICE": (5.53, 7.02, 7.56),
        "HAXMLNet": (2.40, 5.75, 6.42),
        "ProXML": (2.22, 0.82, 2.92),
        "Bonsai": (0.73, 0.40, 0.52),
        "PPD-Sparse": (2.39, 2.33, 2.88),
        "DiSMEC": (2.45, 2.39, 2.98),
        "PfastreXML": (-13.13, -18.58, -20.31),
        "XML-CNN": (-12.65, -20.52, -22.67),
        "fastText": (-46.51, -44.35, -41.27),
        "SLEEC": (-29.84, -40.73, -45.08),
    },
}
_LIGHTXML_SINGLE: dict[str, dict[str, tuple[float, ...]]] = {
    "Wiki-500K": {
        "LightXML, one model": (76.19, 57.22, 44.12),
        "AttentionXML, one tree": (75.07, 56.49, 44.41),
        "LightXML, static negatives, own encoder": (75.30, 56.64, 43.03),
        "LightXML, static negatives, frozen encoder": (73.30, 54.60, 42.27),
    },
    "Amazon-670K": {
        "LightXML, one model": (47.14, 42.02, 38.23),
        "AttentionXML, one tree": (45.66, 40.67, 36.94),
        "LightXML, static negatives, own encoder": (46.27, 41.40, 37.69),
        "LightXML, static negatives, frozen encoder": (43.36, 38.55, 34.96),
    },
}
_GUDN_TABLE_2: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {"GUDN": (88.13, 77.06, 65.49), "RankAE": (79.52, 65.14, 53.18)},
    "AmazonCat-13K": {"GUDN": (96.71, 84.19, 67.96)},
    "Wiki10-31K": {
        "GUDN": (89.75, 78.58, 69.86),
        "DXML": (86.45, 70.88, 61.31),
        "RankAE": (83.60, 72.07, 62.07),
    },
    "Wiki-500K": {"GUDN": (77.89, 59.15, 46.01)},
}
_GUDN_TABLE_3: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "BERT": (86.68, 75.04, 63.03),
        "BERT, feature guide": (87.93, 76.64, 65.02),
        "BERT, link guide": (87.21, 75.09, 63.93),
    },
    "AmazonCat-13K": {
        "BERT": (96.10, 82.89, 67.01),
        "BERT, feature guide": (96.56, 83.98, 67.66),
        "BERT, link guide": (96.12, 83.10, 67.28),
    },
    "Wiki10-31K": {
        "BERT": (88.76, 77.65, 68.51),
        "BERT, feature guide": (89.62, 77.98, 69.67),
        "BERT, link guide": (89.21, 77.63, 68.94),
    },
    "Wiki-500K": {
        "BERT": (77.37, 58.09, 45.46),
        "BERT, feature guide": (77.76, 58.98, 45.69),
        "BERT, link guide": (77.41, 58.16, 45.62),
    },
}
_GUDN_TABLE_4: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "BERT, guided by label texts": (1.25, 1.60, 1.99),
        "BERT, guided by one-hot labels": (0.03, 0.32, 0.13),
    },
    "Wiki10-31K": {
        "BERT, guided by label texts": (0.86, 0.33, 1.16),
        "BERT, guided by one-hot labels": (0.15, 0.18, 0.10),
    },
}
_X_TRANSFORMER_LOGS: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "linear, first seed": (81.14, 68.54, 57.37),
        "linear, second seed": (81.14, 68.18, 57.22),
        "linear, third seed": (80.93, 68.15, 57.21),
        "linear, average of three": (82.02, 69.22, 57.86),
        "linear, rank average of three": (81.71, 69.15, 58.11),
        "linear, round robin of three": (81.14, 68.28, 57.51),
        "linear on TF-IDF and XLNet, average of three": (84.06, 71.57, 59.79),
        "X-Transformer, BERT, PIFA": (85.46, 72.87, 60.78),
        "X-Transformer, RoBERTa, PIFA": (85.36, 72.85, 60.84),
        "X-Transformer, XLNet, PIFA": (84.99, 72.82, 60.76),
        "X-Transformer, BERT, PIFA-neural": (84.92, 72.46, 60.80),
        "X-Transformer, RoBERTa, PIFA-neural": (84.79, 72.67, 60.83),
        "X-Transformer, XLNet, PIFA-neural": (84.86, 72.43, 60.36),
        "X-Transformer, BERT, text-emb": (85.43, 72.89, 60.36),
        "X-Transformer, RoBERTa, text-emb": (85.49, 73.26, 61.08),
        "X-Transformer, XLNet, text-emb": (85.30, 72.77, 60.28),
        "X-Transformer, average of nine": (86.96, 75.20, 62.89),
        "X-Transformer, rank average of nine": (87.22, 75.12, 62.90),
    },
    "Wiki10-31K": {
        "linear, first seed": (83.96, 72.21, 62.78),
        "linear, second seed": (84.01, 72.78, 63.42),
        "linear, third seed": (84.22, 72.08, 62.83),
        "linear, average of three": (84.55, 73.13, 63.34),
        "linear on TF-IDF and dense features, average of three": (87.48, 78.22, 68.36),
    },
}
_OMIKUJI_LOGS: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {
        "omikuji, Parabel": (82.1, 68.8, 57.7),
        "omikuji, k=100, depth 3": (83.0, 69.5, 58.3),
        "omikuji, balanced k=100": (82.1, 69.4, 58.1),
        "omikuji, 5 layers collapsed": (82.4, 69.3, 58.0),
    },
}
_XR_TRANSFORMER: dict[str, dict[str, tuple[float, ...]]] = {
    "Eurlex-4K": {"XR-Transformer": (88.41,)},
}
# Quoted by Papers with Code from the paper's Table 2; not read in the paper itself.
_CHALKIDIS: dict[str, dict[str, tuple[float, ...]]] = {
    "EURLEX57K": {"BERT-base": (68.7, 79.6, 82.3)},
}


def _rows(
    sets: dict[str, PublishedSet],
    source: str,
    table: dict[str, dict[str, tuple[float, ...]]],
    metrics: tuple[str, ...] = P,
) -> list[Published]:
    return [
        Published(sets[name], system, dict(zip(metrics, values, strict=True)), source)
        for name, systems in table.items()
        for system, values in systems.items()
    ]


FIGURES: tuple[Published, ...] = (
    *_rows(_OF_X_BERT, "X-BERT, Table 2 (one model, by label embedding)", _X_BERT_TABLE_2),
    *_rows(_OF_X_BERT, "X-BERT, Table 3", _X_BERT, P_AND_R),
    *_rows(_OF_X_BERT, "X-BERT, Table 4", _X_BERT_TABLE_4, OVER_PARABEL),
    *_rows(_OF_LIGHTXML, "LightXML, Table 3", _LIGHTXML),
    *_rows(_OF_LIGHTXML, "LightXML, Tables 4 and 5", _LIGHTXML_SINGLE),
    *_rows(_OF_LIGHTXML, "APLC-XLNet, Table 4", _APLC),
    *_rows(_OF_GUDN, "GUDN, Table 2", _GUDN_TABLE_2),
    *_rows(_OF_GUDN, "GUDN, Table 3", _GUDN_TABLE_3),
    *_rows(_OF_GUDN, "GUDN, Table 4", _GUDN_TABLE_4, OVER_BERT),
    *_rows(_OF_LIGHTXML, "logs of X-Transformer's code", _X_TRANSFORMER_LOGS),
    *_rows(_OF_GUDN, "README of omikuji", _OMIKUJI_LOGS),
    *_rows(
        _OF_LIGHTXML, "XR-Transformer, as issue 150 of PECOS quotes it", _XR_TRANSFORMER, ("P@1",)
    ),
    *_rows(
        _EURLEX57K,
        "Chalkidis et al. 2019, Table 2, as Papers with Code quotes it",
        _CHALKIDIS,
        ("P@5", "RP@5", "nDCG@5"),
    ),
)
