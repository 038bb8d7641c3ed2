"""The command line, run as a user runs it: real files, real output, exit codes, no tracebacks."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xmtc.cli.app import COMMANDS, run
from xmtc.data.formats.jsonl import write_jsonl
from xmtc.data.planted import planted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_jsonl(planted(), folder / "trn.jsonl")
    write_jsonl(planted(seed=1), folder / "tst.jsonl.gz")
    assert run(["train", "one_vs_all", f"{folder}/trn.jsonl", "--out", f"{folder}/model"]) == 0
    return folder


def xmtc(capfd, *arguments):
    """(exit code, standard output, standard error)"""
    code = run([str(argument) for argument in arguments])
    output, errors = capfd.readouterr()
    assert "Traceback" not in errors
    return code, output, errors


def piped(*arguments, text=""):
    command = [sys.executable, "-m", "xmtc", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capfd, command):
    code, output, _ = xmtc(capfd, command, "--help")
    assert code == 0
    assert output.startswith("Usage: xmtc")


def test_of_several_processes_only_the_first_saves(capfd, folder, tmp_path, monkeypatch):
    train = ["train", "most_frequent", folder / "trn.jsonl", "--out", tmp_path / "model"]
    monkeypatch.setenv("RANK", "1")
    assert xmtc(capfd, *train)[:2] == (0, "")
    assert not (tmp_path / "model").exists()
    monkeypatch.setenv("RANK", "0")
    assert xmtc(capfd, *train)[0] == 0
    assert (tmp_path / "model").exists()


def test_train_says_what_it_did(capfd, folder):
    code, output, _ = xmtc(
        capfd,
        "train",
        "one_vs_all",
        folder / "trn.jsonl",
        "--out",
        folder / "other",
        "--set",
        "svm.cost=2",
        "--set",
        "text.ngram_range=1,2",
        "--json",
    )
    result = json.loads(output)
    assert code == 0
    assert (result["texts"], result["labels"], result["kind"]) == (200, 12, "one_vs_all")
    manifest = json.loads((folder / "other" / "manifest.json").read_text())
    assert manifest["settings"]["svm"]["cost"] == 2
    assert manifest["settings"]["text"]["ngram_range"] == [1, 2]


def test_settings_from_a_file_give_way_to_those_on_the_line(capfd, folder, tmp_path):
    code, output, _ = xmtc(capfd, "settings", "one_vs_all", "--toml")
    (tmp_path / "mine.toml").write_text(output.replace("cost = 1.0", "cost = 4.0", 1))
    code, _, _ = xmtc(
        capfd,
        "train",
        "one_vs_all",
        folder / "trn.jsonl",
        "--out",
        tmp_path / "model",
        "--config",
        tmp_path / "mine.toml",
        "--set",
        "svm.prune=0",
    )
    settings = json.loads((tmp_path / "model" / "manifest.json").read_text())["settings"]
    assert code == 0
    assert (settings["svm"]["cost"], settings["svm"]["prune"]) == (4.0, 0.0)


def test_a_validation_set_decides_what_a_kind_selects(capfd, folder, tmp_path):
    train = [
        "train",
        "ensemble",
        folder / "trn.jsonl",
        "--out",
        tmp_path / "model",
        "--set",
        "members=most_frequent,one_vs_all",
        "--set",
        "how=rank_average",
        "--set",
        "metric=P@1",
        "--validation",
    ]
    assert xmtc(capfd, *train, folder / "tst.jsonl.gz")[0] == 0
    _, inside, _ = xmtc(capfd, "inspect", tmp_path / "model")
    assert "one_vs_all" in inside
    assert "most_frequent" not in inside  # it is of no use there, so it is left out
    code, _, errors = xmtc(capfd, *train, folder / "none.jsonl", "--overwrite")
    assert code == 1
    assert "none.jsonl" in errors
    code, _, errors = xmtc(
        capfd,
        "train",
        "linear_tree",
        "not-read.jsonl",
        "--out",
        tmp_path / "tree",
        "--validation",
        folder / "tst.jsonl.gz",
    )
    assert code == 1
    assert "linear_tree does not use validation data" in errors


def test_a_model_is_not_overwritten_unless_asked(capfd, folder):
    train = ["train", "most_frequent", folder / "trn.jsonl", "--out", folder / "twice"]
    assert xmtc(capfd, *train)[0] == 0
    code, _, errors = xmtc(capfd, *train)
    assert code == 1
    assert "not empty" in errors
    assert "--overwrite" in errors
    assert xmtc(capfd, *train, "--overwrite")[0] == 0


def test_evaluate_prints_percent_under_the_usual_names(capfd, folder):
    code, output, _ = xmtc(
        capfd,
        "evaluate",
        folder / "model",
        folder / "tst.jsonl.gz",
        "--json",
        "--threshold",
        "0.5",
        "--resamples",
        "50",
    )
    result = json.loads(output)
    assert code == 0
    assert output.count("\n") == 1
    for name in ("P@1", "P@3", "P@5", "R@5", "nDCG@5", "PSP@5", "micro F1"):
        assert 50 <= result[name] <= 100 or name in ("P@3", "P@5")
    assert result["texts"] == 200
    low, high = result["intervals"]["R@5"]
    assert low <= result["R@5"] <= high
    code, output, _ = xmtc(capfd, "evaluate", folder / "model", folder / "tst.jsonl.gz", "-k", "2")
    assert code == 0
    assert "@2" in output
    assert "nDCG" in output
    assert "tail" in output
    assert re.search(r"unseen +0 +0 +–", output)


def test_combine_makes_one_model_of_several(capfd, folder, tmp_path):
    train = ["train", "most_frequent", folder / "trn.jsonl", "--out", tmp_path / "floor"]
    assert xmtc(capfd, *train)[0] == 0
    both = [folder / "model", tmp_path / "floor"]
    code, output, _ = xmtc(capfd, "combine", tmp_path / "plain", *both, "--how", "rank_average")
    assert code == 0
    assert "Combined 2 models with 12 labels by rank_average" in output
    code, output, _ = xmtc(
        capfd,
        "combine",
        tmp_path / "learned",
        *both,
        "--validation",
        folder / "tst.jsonl.gz",
        "--set",
        "metric=nDCG@5",
        "--json",
    )
    found = json.loads(output)
    assert code == 0
    assert found["these_weights"] >= max(found["equal_weights"], *found["alone"].values())
    assert sum(found["weights"].values()) == pytest.approx(1)
    code, output, _ = xmtc(
        capfd,
        "combine",
        tmp_path / "learned",
        *both,
        "--validation",
        folder / "tst.jsonl.gz",
        "--how",
        "rank_average",
        "--set",
        "metric=P@1",
        "--overwrite",
    )
    assert "with equal weights" in output
    assert f"Left out, because of weight 0: {tmp_path / 'floor'}" in output
    assert "Combined 1 model with 12 labels" in output
    code, output, _ = xmtc(capfd, "inspect", tmp_path / "plain")
    assert "trained.1.kind" in output
    assert f"{folder / 'trn.jsonl'} (200 texts)" in output
    assert "one_vs_all,most_frequent" in output
    assert "{'" not in output
    code, output, _ = xmtc(capfd, "explain", tmp_path / "plain", "sign3a", "-k1")
    assert "explained by one_vs_all, member 1 of 2" in output
    code, output, _ = xmtc(capfd, "explain", tmp_path / "plain", "sign3a", "-k1", "--json")
    assert json.loads(output)[0]["by"] == "one_vs_all, member 1 of 2"
    code, output, _ = xmtc(capfd, "predict", tmp_path / "learned", "--text", "sign3a sign3b", "-k1")
    assert "label 0003" in output


def test_compare_says_who_is_better_and_where(capfd, folder, tmp_path):
    floor = tmp_path / "floor"
    test = folder / "tst.jsonl.gz"
    assert xmtc(capfd, "train", "most_frequent", folder / "trn.jsonl", "--out", floor)[0] == 0
    asked = ["compare", floor, folder / "model", "--test", test, "--resamples", 50]
    page = tmp_path / "report.html"
    code, output, errors = xmtc(capfd, *asked, "--html", page)
    assert (code, errors) == (0, "")
    for expected in (
        "200 texts",
        "P@5",
        "PSP@3",
        "difference",
        "head",
        "tail",
        "gains most",
        "both",
    ):
        assert expected in output
    assert "open it in a browser" in output
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert re.search(r"unseen +0 +– +– +– +–", output)
    code, _, errors = xmtc(capfd, *asked, "--html", page)
    assert (code, "already there" in errors, "--overwrite" in errors) == (1, True, True)
    assert xmtc(capfd, *asked, "--html", page, "--overwrite")[0] == 0
    values = json.loads(xmtc(capfd, *asked, "--json", "--top", 2)[1])
    assert values["versus"][str(folder / "model")]["metrics"]["P@1"]["low"] > 0
    assert values["resamples"] == 50


def test_a_report_is_written_even_if_the_output_is_cut_off(capfd, folder, tmp_path, monkeypatch):
    def gone(*_):
        raise BrokenPipeError

    floor = tmp_path / "floor"
    page = tmp_path / "report.html"
    assert xmtc(capfd, "train", "most_frequent", folder / "trn.jsonl", "--out", floor)[0] == 0
    monkeypatch.setattr("xmtc.cli.compare._print_bands", gone)
    monkeypatch.setattr(os, "dup2", lambda *_: None)  # pytest still reads our output
    asked = ["compare", floor, folder / "model", "--test", folder / "tst.jsonl.gz", "--html", page]
    assert xmtc(capfd, *asked)[0] == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_compare_refuses_what_cannot_be_before_it_works(capfd, folder, tmp_path):
    model = folder / "model"
    test = folder / "tst.jsonl.gz"
    code, _, errors = xmtc(capfd, "compare", model, model, "--test", test)
    assert (code, "named twice" in errors) == (1, True)
    same = model.parent / "." / "model" / ".." / "model"
    code, _, errors = xmtc(capfd, "compare", model, same, "--test", test)
    assert (code, "named twice" in errors) == (1, True)
    code, _, errors = xmtc(capfd, "compare", model, "--test", test)
    assert (code, "two or more models" in errors) == (1, True)
    code, _, errors = xmtc(capfd, "compare", model, model)
    assert (code, "--test" in errors) == (2, True)
    other = tmp_path / "other"
    missing = tmp_path / "no" / "r.html"
    write_jsonl(planted(labels=5), tmp_path / "few.jsonl")
    assert xmtc(capfd, "train", "most_frequent", tmp_path / "few.jsonl", "--out", other)[0] == 0
    code, _, errors = xmtc(capfd, "compare", model, other, "--test", test)
    assert (code, "--different-labels" in errors) == (1, True)
    code, _, errors = xmtc(capfd, "compare", model, other, "--test", test, "--html", missing)
    assert (code, "no folder" in errors) == (1, True)
    code, _, errors = xmtc(capfd, "compare", model, other, "--test", test, "--html", tmp_path)
    assert (code, "is a folder" in errors) == (1, True)


def test_combine_refuses_what_cannot_be_before_it_works(capfd, folder, tmp_path):
    model = folder / "model"
    out = tmp_path / "out"
    code, _, errors = xmtc(capfd, "combine", model, model, model)
    assert code == 1
    assert "--overwrite" in errors
    code, _, errors = xmtc(capfd, "combine", out, model)
    assert (code, "two or more models" in errors) == (1, True)
    code, _, errors = xmtc(capfd, "combine", out, model, tmp_path / "missing")
    assert code == 1
    assert "there is no such folder" in errors
    code, _, errors = xmtc(capfd, "combine", out, model, model, "--set", "weights=0.5,0.6")
    assert code == 1
    assert "must sum to 1" in errors
    code, _, errors = xmtc(capfd, "combine", out)
    assert code == 2
    assert not out.exists()


def test_predict_answers_json_lines_in_order(folder):
    texts = planted(seed=2).texts[:1200]
    lines = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts))
    result = piped("predict", folder / "model", "-k", "2", text=lines)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 0
    assert [answer["id"] for answer in answers] == list(range(len(texts)))
    assert all(len(answer["labels"]) == 2 for answer in answers)
    assert set(answers[0]["labels"][0]) == {"label", "score"}


def test_predict_reads_plain_lines_packed_files_and_the_command_line(capfd, folder, tmp_path):
    with gzip.open(tmp_path / "texts.txt.gz", "wt") as file:
        file.write("sign0a sign0b\n\nsign3a sign3b\r\n")
    code, output, _ = xmtc(capfd, "predict", folder / "model", tmp_path / "texts.txt.gz", "--json")
    first = [json.loads(line)["labels"][0]["label"] for line in output.splitlines()]
    assert code == 0
    assert (first[0], first[2], len(first)) == ("label 0000", "label 0003", 3)
    code, output, _ = xmtc(capfd, "predict", folder / "model", "--text", "sign3a", "--table", "-k1")
    assert "label 0003" in output


def test_a_threshold_can_leave_no_label(capfd, folder):
    _, output, _ = xmtc(
        capfd, "predict", folder / "model", "--text", "sign3a sign3b", "--threshold", 2, "--json"
    )
    assert json.loads(output) == {"labels": []}


def test_predict_answers_before_the_input_ends(folder):
    command = [sys.executable, "-m", "xmtc", "predict", str(folder / "model")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for text in ("sign1a sign1b", "sign2a sign2b"):
            process.stdin.write(text + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert answer["labels"][0]["label"] == f"label 000{text[4]}"
        process.stdin.close()
        assert process.wait(10) == 0


def test_a_bad_line_is_named_and_can_be_answered_with_an_error(folder):
    lines = '{"text": "sign1a"}\n{"text": 5}\n{broken\n{"txt": "x"}\n{"text": "sign2a"}\n'
    result = piped("predict", folder / "model", text=lines)
    assert result.returncode == 1
    assert "standard input:2:" in result.stderr
    assert len(result.stdout.splitlines()) == 1  # the good line before it was answered
    assert "--skip-bad" in result.stderr
    result = piped("predict", folder / "model", "--skip-bad", text=lines)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 0
    assert ["error" in answer for answer in answers] == [False, True, True, True, False]
    assert answers[2]["error"].startswith("standard input:3: not JSON (")
    assert answers[2]["error"].endswith("'{broken'.")


def test_only_the_column_that_was_asked_for_is_read(capfd, folder, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"body": "sign1a"}\n{"text": "sign2a"}\n')
    asked = ["predict", folder / "model", tmp_path / "t.jsonl", "--text-column", "body", "--json"]
    code, output, errors = xmtc(capfd, *asked)
    assert (code, output.count("\n")) == (1, 1)
    assert "t.jsonl:2: no column 'body' among" in errors
    assert "Fix the line" in errors
    (tmp_path / "t.csv").write_text("body,text\nsign1a sign1b,sign2a sign2b\n")
    _, output, _ = xmtc(capfd, *asked[:2], tmp_path / "t.csv", *asked[3:])
    assert json.loads(output)["labels"][0]["label"] == "label 0001"


def test_predict_reads_a_pipe(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-m", "xmtc", "predict", str(folder / "model"), tmp_path / "pipe"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        (tmp_path / "pipe").write_text("sign1a sign1b\n")
        assert json.loads(process.stdout.read())["labels"][0]["label"] == "label 0001"
        assert process.wait(30) == 0


def test_predict_and_evaluate_name_options_that_they_cannot_use(capfd, folder, tmp_path):
    model = folder / "model"
    (tmp_path / "t.txt").write_text("sign1a\n")
    (tmp_path / "xc").mkdir()
    (tmp_path / "xc" / "xc.txt").write_text("2 3 1\n0 0:1\n0 2:1\n")
    (tmp_path / "xc" / "Yf.txt").write_text("label 0000\n")
    (tmp_path / "foreign.jsonl").write_text('{"text": "sign1a", "labels": ["x", "y"]}\n')
    (tmp_path / "bare.jsonl").write_text('{"text": "sign1a", "labels": []}\n')
    for arguments, wanted, expected in (
        (["predict", model, tmp_path / "t.txt", "--text", "sign1a"], 2, "--text, not both"),
        (["predict", model, tmp_path], 1, "is a folder"),
        (["predict", tmp_path / "t.txt"], 1, "not a model folder: it is a file"),
        (["evaluate", model, tmp_path / "xc" / "xc.txt"], 1, "expected texts, got features"),
        (["evaluate", model, tmp_path / "foreign.jsonl"], 1, "none of the 2 labels"),
        (["evaluate", model, tmp_path / "bare.jsonl"], 1, "bare.jsonl: no text"),
    ):
        code, output, errors = xmtc(capfd, *arguments)
        assert (code, output) == (wanted, "")
        assert expected in errors


def test_bytes_that_are_not_text_are_bad_lines_too(folder, tmp_path):
    (tmp_path / "t.jsonl").write_bytes(
        b'{"id": NaN, "text": "a"}\n\xff\xfe\n{"id": "\\ud800", "text": "sign1a"}\n'
    )
    result = piped("predict", folder / "model", tmp_path / "t.jsonl", "--skip-bad")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 0
    assert ["error" in answer for answer in answers] == [True, True, False]


def test_ctrl_c_ends_predict_with_one_word(folder):
    command = [sys.executable, "-m", "xmtc", "predict", str(folder / "model")]
    # Tests that a shell runs in the background ignore Ctrl-C, and so would their children.
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        signal.signal(signal.SIGINT, ours)
        process.stdin.write("sign1a\n")
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(0.5)  # now it waits for the next line
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read().strip() == "xmtc: stopped."


def test_a_reader_that_stops_early_is_no_error(folder):
    lines = "sign1a\n" * 5000
    command = shlex.join([sys.executable, "-m", "xmtc", "predict", str(folder / "model")])
    shell = ["bash", "-c", f"set -o pipefail; {command} | head -n 1"]
    result = subprocess.run(shell, input=lines, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.returncode == 0
    assert result.stdout.count("\n") == 1


def test_inspect_shows_what_is_inside(capfd, folder):
    code, output, _ = xmtc(capfd, "inspect", folder / "model", "--json")
    result = json.loads(output)
    assert code == 0
    assert (result["kind"], result["labels"], result["texts"]) == ("one_vs_all", 12, 200)
    assert result["frequent_labels"][0]["label"] == "label 0000"
    assert "one_vs_all" in xmtc(capfd, "inspect", folder / "model")[1]


def test_doctor_finds_what_is_wrong_and_draws(capfd, folder, tmp_path):
    rows = [("same text", ["a"]), ("Same  text", ["a"]), ("", ["b"]), ("other words", ["A "])]
    data = tmp_path / "bad.jsonl"
    data.write_text("".join(json.dumps({"text": t, "labels": n}) + "\n" for t, n in rows))
    code, output, _ = xmtc(capfd, "data", "doctor", data, folder / "tst.jsonl.gz", "--json")
    kinds = {finding["kind"] for finding in json.loads(output)["findings"]}
    assert code == 0
    assert {"empty_texts", "exact_duplicates", "alike_label_names", "unseen_test_labels"} <= kinds
    code, output, _ = xmtc(capfd, "data", "doctor", data, "--plot", tmp_path / "zipf.svg")
    assert code == 0
    assert "words per text" in output
    assert (tmp_path / "zipf.svg").read_text().startswith("<svg")


def test_doctor_counts_no_words_of_features_and_misses_labels(capfd, tmp_path):
    (tmp_path / "xc.txt").write_text("2 3 2\n0 0:1.0\n0,1 1:0.5 2:1.0\n")
    code, output, _ = xmtc(capfd, "data", "doctor", tmp_path / "xc.txt")
    assert (code, "labels per text" in output, "words per text" in output) == (0, True, False)
    (tmp_path / "bare.jsonl").write_text('{"text": "a word", "labels": []}\n')
    code, output, _ = xmtc(capfd, "data", "doctor", tmp_path / "bare.jsonl")
    assert "✗ No text has a label" in output


@pytest.fixture
def tree(capfd, folder, tmp_path):
    """A linear_tree in `tmp_path`, its training data and texts with a new label next to it."""
    (tmp_path / "trn.jsonl").write_text((folder / "trn.jsonl").read_text())
    (tmp_path / "more.jsonl").write_text('{"text": "zebra stripes", "labels": ["zebra"]}\n')
    train = ["train", "linear_tree", tmp_path / "trn.jsonl", "--out", tmp_path / "tree"]
    assert xmtc(capfd, *train)[0] == 0
    return tmp_path


def test_update_finds_the_training_data_again_and_again(capfd, tree):
    for place, (old, new) in enumerate([("tree", "wider"), ("wider", "widest")]):
        command = ["update", tree / old, tree / "more.jsonl", "--out", tree / new, "--json"]
        code, output, _ = xmtc(capfd, *command)
        assert code == 0
        assert json.loads(output)["new_labels"] == 1 - place
    _, output, _ = xmtc(capfd, "inspect", tree / "widest", "--json")
    shown = json.loads(output)
    assert (shown["labels"], shown["texts"]) == (13, 202)
    assert [s["texts"] for s in shown["sources"]] == [200, 1, 1]
    assert shown["sources"][0]["path"] == str(tree / "trn.jsonl")
    _, output, _ = xmtc(capfd, "inspect", tree / "widest")
    assert f"trained on {tree / 'trn.jsonl'} (200 texts)" in output


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda file: file.rename(file.with_name("moved.jsonl")), "which does not exist"),
        (lambda file: file.write_text(file.read_text() * 2), "now has 400 texts"),
        (lambda file: file.write_text(file.read_text().replace("sign", "sigh")), "other content"),
    ],
)
def test_update_says_what_became_of_the_training_data(capfd, folder, tree, change, expected):
    change(tree / "trn.jsonl")
    command = ["update", tree / "tree", tree / "more.jsonl", "--out", tree / "wider"]
    code, _, errors = xmtc(capfd, *command)
    assert code == 1
    assert expected in errors
    assert "200 texts" in errors
    assert "--train" in errors
    assert xmtc(capfd, *command, "--train", folder / "trn.jsonl")[0] == 0


def test_update_notices_other_texts_of_the_same_number(capfd, tree):
    other = (tree / "trn.jsonl").read_text().replace("sign", "sigh")
    (tree / "other.jsonl").write_text(other)
    command = ["update", tree / "tree", tree / "more.jsonl", "--out", tree / "wider"]
    code, _, errors = xmtc(capfd, *command, "--train", tree / "other.jsonl")
    assert (code, "has other texts or labels" in errors) == (1, True)


def test_labels_without_a_text_are_added_by_their_names(capfd, tree):
    (tree / "labels.tsv").write_text("sign0a sign1a\t\nkappa\tkappa sign2a\n")
    add = ["labels", "add", tree / "tree", "--texts", tree / "labels.tsv", "--out", tree / "more"]
    code, output, _ = xmtc(capfd, *add)
    assert (code, "Added 2 labels, now 14" in output) == (0, True)


def test_update_reads_the_old_data_as_it_was_read_before(capfd, tree):
    table = "".join(f"sign{i}a sign{i}b;label {i}|other\n" for i in range(6))
    (tree / "old.csv").write_text("body;tags\n" + table)
    reading = ["--text-column", "body", "--label-column", "tags", "--label-separator", "|"]
    train = ["train", "linear_tree", tree / "old.csv", "--out", tree / "csv", *reading]
    assert xmtc(capfd, *train)[0] == 0
    update = ["update", tree / "csv", tree / "more.jsonl", "--out", tree / "csv2", "--json"]
    code, output, _ = xmtc(capfd, *update)
    assert (code, json.loads(output)["labels"]) == (0, 8)


def test_a_model_without_a_source_asks_for_its_data(capfd, folder, tree):
    from xmtc import load, save
    from xmtc.api import remember

    save(remember(load(tree / "tree"), []), tree / "old")
    command = ["update", tree / "old", tree / "more.jsonl", "--out", tree / "wider"]
    code, _, errors = xmtc(capfd, *command)
    assert (code, "--train" in errors) == (1, True)
    assert xmtc(capfd, *command, "--train", folder / "trn.jsonl")[0] == 0


def test_labels_are_added_and_removed(capfd, tree):
    (tree / "labels.tsv").write_text("lion\tyellow mane sign0a\n")
    code, output, _ = xmtc(
        capfd,
        "labels",
        "add",
        tree / "tree",
        "--examples",
        tree / "more.jsonl",
        "--texts",
        tree / "labels.tsv",
        "--out",
        tree / "more",
        "--json",
    )
    assert (code, json.loads(output)["labels"]) == (0, 14)
    remove = ["labels", "remove", tree / "more", "lion", "zebra", "--out", tree / "less"]
    code, output, _ = xmtc(capfd, *remove)
    assert (code, "Removed 2 labels, now 12" in output) == (0, True)
    code, _, errors = xmtc(capfd, "labels", "add", tree / "tree", "--out", tree / "x")
    assert (code, "--examples" in errors) == (1, True)
    update = ["update", tree / "less", tree / "more.jsonl", "--out", tree / "again"]
    assert xmtc(capfd, *update)[0] == 0


def test_a_plan_becomes_settings_that_train_reads(capfd, folder, tmp_path):
    data = folder / "trn.jsonl"
    toml = tmp_path / "mine.toml"
    plan = ["plan", "linear_tree", data, "--memory", "40 GB", "--set", "trees=2", "--out", toml]
    code, output, _ = xmtc(capfd, *plan)
    assert code == 0
    assert "will take about" in output
    train = ["train", "linear_tree", data, "--config", toml, "--out", tmp_path / "model"]
    assert xmtc(capfd, *train, "--minutes", "60")[0] == 0
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert manifest["settings"]["trees"] == 2
    code, output, _ = xmtc(capfd, "plan", "one_vs_all", data, "--json")
    assert json.loads(output)["peak_bytes"] > 1e6
    code, _, errors = xmtc(capfd, "plan", "linear_tree", data, "--memory", "1MB")
    assert (code, "the least found is" in errors) == (1, True)
    assert xmtc(capfd, "plan", "linear_tree", data, "--memory", "much")[0] == 2
    assert xmtc(capfd, *plan)[0] == 1


def test_predict_reads_the_texts_of_a_table(capfd, folder, tmp_path):
    (tmp_path / "books.csv").write_text('Title,Year\n"sign3a, sign3b",2020\nsign1a,2021\n')
    command = ["predict", folder / "model", tmp_path / "books.csv", "--json", "-k", "1"]
    code, _, errors = xmtc(capfd, *command)
    assert code == 1
    assert "--text-column" in errors
    code, output, _ = xmtc(capfd, *command, "--text-column", "Title")
    first = [json.loads(line)["labels"][0]["label"] for line in output.splitlines()]
    assert (code, first) == (0, ["label 0003", "label 0001"])


def test_a_converted_file_is_what_its_name_says(capfd, folder, tmp_path):
    for name in ("a.csv", "b.tsv.gz", "c.parquet"):
        assert xmtc(capfd, "data", "convert", folder / "trn.jsonl", tmp_path / name)[0] == 0
        code, output, _ = xmtc(capfd, "data", "doctor", tmp_path / name, "--json")
        assert json.loads(output)["texts"] == 200
    code, _, errors = xmtc(capfd, "data", "convert", folder / "trn.jsonl", tmp_path / "a.csv")
    assert (code, "--overwrite" in errors) == (1, True)
    code, _, errors = xmtc(capfd, "data", "convert", folder / "trn.jsonl", tmp_path / "a.pdf")
    assert (code, ".parquet" in errors) == (1, True)


def test_convert_writes_json_lines(capfd, folder, tmp_path):
    (tmp_path / "in.csv").write_text("text,labels\nolive oil,trade;fish\n")
    code, _, _ = xmtc(capfd, "data", "convert", tmp_path / "in.csv", tmp_path / "out.jsonl")
    assert code == 0
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert (row["text"], sorted(row["labels"])) == ("olive oil", ["fish", "trade"])


def test_one_text_with_one_label_is_in_the_singular(capfd, tmp_path):
    (tmp_path / "one.jsonl").write_text('{"text": "a word", "labels": ["x"]}\n')
    train = ["train", "most_frequent", tmp_path / "one.jsonl", "--out", tmp_path / "m"]
    assert "on 1 text with 1 label in" in xmtc(capfd, *train)[1]
    convert = ["data", "convert", tmp_path / "one.jsonl", tmp_path / "one.csv"]
    assert "Wrote 1 text with 1 label to" in xmtc(capfd, *convert)[1]
    assert "1 text, 1 label" in xmtc(capfd, "data", "doctor", tmp_path / "one.jsonl")[1]


def test_skipped_lines_are_counted(capfd, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "a word", "labels": ["x"]}\nnot json\n')
    train = ["train", "most_frequent", tmp_path / "d.jsonl", "--out", tmp_path / "m"]
    code, _, errors = xmtc(capfd, *train)
    assert code == 1
    assert "d.jsonl:2" in errors
    assert "--skip-bad" in errors
    code, _, errors = xmtc(capfd, *train, "--skip-bad")
    assert code == 0
    assert "1 bad line" in errors


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["trian"], 2, "did you mean 'train'"),
        (["train", "one_vs_all"], 2, "Missing argument"),
        (["train", "one_vs_all", "x.jsonl", "--out", "m", "--sett", "a"], 2, "No such option"),
        (["train", "one_vs_al", "x.jsonl", "--out", "m"], 1, "did you mean 'one_vs_all'"),
        (["train", "one_vs_all", "nowhere.jsonl", "--out", "m"], 1, "nowhere.jsonl"),
        (["train", "one_vs_all", "x", "--out", "m", "--set", "svm.coost=1"], 1, "mean 'svm.cost'"),
        (["train", "one_vs_all", "x", "--out", "m", "--set", "svm"], 1, "name=value"),
        (["train", "one_vs_all", "x", "--out", "m", "--set", "svm.cost=abc"], 1, "a number"),
        (["train", "one_vs_all", "x", "--out", "m", "--config", "no.toml"], 1, "no.toml"),
        (
            ["train", "one_vs_all", "x", "--out", "m", "--set", "cost=2"],
            1,
            "did you mean 'svm.cost'",
        ),
        (["predict", "nowhere"], 1, "not a model folder"),
        (["evaluate", "nowhere", "x"], 1, "not a model folder"),
        (["inspect", "."], 1, "not a model folder"),
        (["--threads", "0", "version"], 2, "threads"),
        (["settings", "none"], 1, "Available"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_mistakes_get_a_sentence_and_an_exit_code(
    capfd, tmp_path, monkeypatch, arguments, code, words
):
    monkeypatch.chdir(tmp_path)
    got, _, errors = xmtc(capfd, *arguments)
    assert got == code
    assert words in errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(capfd, shell):
    if shell == "bash" and not any(
        os.access(f"{place}/bash", os.X_OK) for place in os.environ["PATH"].split(":")
    ):
        pytest.skip("no bash here")
    code, output, _ = xmtc(capfd, "completion", shell)
    assert code == 0
    assert "_XMTC_COMPLETE" in output


def test_completion_suggests_commands():
    environment = {
        **os.environ,
        "_XMTC_COMPLETE": "bash_complete",
        "COMP_WORDS": "xmtc tr",
        "COMP_CWORD": "1",
    }
    result = subprocess.run(
        [str(Path(sys.executable).parent / "xmtc")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "train" in result.stdout


def test_version_names_what_it_runs_on(capfd):
    code, output, _ = xmtc(capfd, "version", "--json")
    assert code == 0
    assert {"xmtc", "python", "numpy", "numba", "torch", "transformers"} <= set(json.loads(output))
    assert xmtc(capfd, "--version")[1].startswith("xmtc ")


def test_version_says_what_is_not_installed(capfd, monkeypatch):
    from xmtc.cli import version

    monkeypatch.setattr(version, "PARTS", ("numpy", "no-such-package"))
    assert "no-such-package not installed" in xmtc(capfd, "version")[1]


QUICK_NEURAL = [
    "--set",
    "encoder=cnn",
    "--set",
    "encoder.embedding_dim=16",
    "--set",
    "training.epochs=2",
]


def test_a_neural_training_leaves_its_log_and_curves_next_to_the_model(capfd, folder, tmp_path):
    out = tmp_path / "neural"
    train = ["train", "lightxml", folder / "trn.jsonl", "--out", out, *QUICK_NEURAL]
    assert xmtc(capfd, *train)[0] == 0
    names = {path.name for path in Path(f"{out}.run").iterdir()}
    assert names == {
        "log.jsonl",
        "curves.svg",
        "head",
    }  # head: the same of the output layers' passes
    code, output, _ = xmtc(capfd, "evaluate", out, folder / "tst.jsonl.gz", "--json")
    assert code == 0
    assert json.loads(output)["texts"] == 200


def test_a_linear_training_leaves_nothing_next_to_the_model(capfd, folder, tmp_path):
    out = tmp_path / "linear"
    assert xmtc(capfd, "train", "linear_tree", folder / "trn.jsonl", "--out", out)[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["linear"]


def test_a_stopped_training_says_whether_it_can_continue(capfd, folder, tmp_path, monkeypatch):
    from xmtc import api
    from xmtc.core.run import Run

    def stopped(kind, dataset, settings, run):
        if kind == "lightxml":
            Run.at(run).stage("words", "key", dict)
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "train", stopped)
    for kind, goes_on in (("lightxml", True), ("linear_tree", False)):
        train = ["train", kind, folder / "trn.jsonl", "--out", tmp_path / kind]
        code, _, errors = xmtc(capfd, *train)
        assert code == 130
        assert "xmtc: stopped." in errors
        advice = f"Run the same command again to continue from {tmp_path / kind}.run"
        assert (advice in errors) == goes_on


def test_a_killed_neural_training_continues_with_the_same_command(
    capfd, folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("XMTC_CHECKPOINT_SECONDS", "0")
    answers = []
    for name, kills in (("whole", 0), ("killed", 1)):
        out = tmp_path / name
        command = [
            "train",
            "lightxml",
            folder / "trn.jsonl",
            "--out",
            out,
            *QUICK_NEURAL,
            "--set",
            "training.epochs=12",
        ]
        for _ in range(kills):
            program = [sys.executable, "-m", "xmtc", *map(str, command)]
            child = subprocess.Popen(program)
            log = Path(f"{out}.run/log.jsonl")
            while not log.exists() or log.read_text().count("\n") < 5:
                assert child.poll() is None
            child.kill()
            child.wait()
        assert xmtc(capfd, *command)[0] == 0
        answers.append((out / "arrays.safetensors").read_bytes())
    assert answers[0] == answers[1]


def test_presets_are_listed_and_used_with_settings_on_top(capfd, folder, tmp_path):
    code, output, _ = xmtc(capfd, "presets", "linear_tree", "--json")
    assert code == 0
    assert {"parabel", "bonsai", "xr-linear", "plt"} <= {
        each["name"] for each in json.loads(output)
    }
    out = tmp_path / "model"
    train = ["train", "linear_tree", folder / "trn.jsonl", "--out", out, "--preset", "parabel"]
    assert xmtc(capfd, *train, "--set", "trees=2")[0] == 0
    settings = json.loads((out / "manifest.json").read_text())["settings"]
    assert (settings["trees"], settings["tree"]["arity"]) == (2, 2)


def test_a_preset_of_another_kind_is_refused_before_the_work(capfd, tmp_path):
    train = ["train", "one_vs_all", tmp_path / "none.jsonl", "--out", tmp_path / "model"]
    code, _, errors = xmtc(capfd, *train, "--preset", "parabel")
    assert code == 1
    assert "the preset parabel is for linear_tree, not one_vs_all. Available: dismec." in errors
    code, _, errors = xmtc(capfd, *train, "--preset", "dismek")
    assert (code, "did you mean 'dismec'?" in errors) == (1, True)


def test_settings_of_papers_are_listed_when_asked_for(capfd):
    _, shown, _ = xmtc(capfd, "settings", "linear_tree")
    _, listed, _ = xmtc(capfd, "settings", "linear_tree", "--all")
    assert "published" not in shown
    assert "published" in listed
    _, changed, _ = xmtc(capfd, "settings", "linear_tree", "--preset", "parabel")
    assert "published" in changed  # those that differ from their defaults


def test_a_setting_without_effect_is_reported(capfd, folder, tmp_path, caplog):
    train = ["train", "lightxml", folder / "trn.jsonl", "--out", tmp_path / "model", *QUICK_NEURAL]
    changes = ["--set", "training.epochs=0", "--set", "training.optimizer.encoder_lr=0.5"]
    assert xmtc(capfd, *train, *changes)[0] == 0
    assert "training.optimizer.encoder_lr has no effect: training.epochs=0" in caplog.text
