"""The verbs that place: place, extend, compare and sweep."""

import json
import re

import pytest

from hyperproto import Prototypes
from hyperproto.cli.main import main
from hyperproto.cli.place import read_classes

NAMES = "cat,dog,oak,pine,car"
VECTORS = "cat 1 0 .1\ndog .9 .1 .1\noak 0 1 .2\npine 0 .9 .3\ncar .1 .1 1\n"


def run(capsys, *arguments):
    """Return (exit code, standard output, standard error) of one command."""
    try:
        main(list(arguments))
        code = 0
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS, encoding="utf-8")
    return str(path)


def test_place_prints_its_certificate_and_writes_a_file(capsys, tmp_path):
    path = tmp_path / "p.safetensors"
    code, out, err = run(capsys, "place", "10", "5", "-o", str(path))
    assert (code, err) == (0, "")
    assert "maximum cosine" in out
    assert "Rankin" in out
    assert Prototypes.load(path).num_classes == 10


def test_place_speaks_json(capsys):
    code, out, _ = run(capsys, "place", "4", "3", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["max_cosine"] == pytest.approx(-1 / 3)
    assert report["proved"] is True
    assert report["separation"]["min"] == pytest.approx(4 / 3)


def test_a_single_value_given_twice_still_counts_as_its_last(capsys):
    code, out, _ = run(capsys, "place", "4", "3", "--seed", "1", "--seed", "2", "--json")
    assert code == 0
    assert json.loads(out)["proved"] is True


def test_place_has_a_default_dimension_and_says_what_its_options_are(capsys):
    code, out, _ = run(capsys, "place", "12", "--json")
    assert (code, json.loads(out)["dim"]) == (0, 11)
    code, out, _ = run(capsys, "place", "--help")
    assert "--method {auto,codes,optimize,project,assign,paper,random}" in out
    assert "[D]" in out
    assert "no-json" not in out


def test_place_leaves_no_axis_empty_where_asked(capsys, tmp_path):
    padded, full = tmp_path / "padded.safetensors", tmp_path / "full.safetensors"
    code, out, _ = run(capsys, "place", "100", "25", "--method", "codes", "-o", str(padded))
    assert code == 0
    used = Prototypes.load(padded).used_axes
    assert f"{used} of 25 in use, the others empty" in out
    code, out, _ = run(
        capsys, "place", "100", "25", "--every-axis", "--effort", "fast", "-o", str(full)
    )
    assert code == 0
    assert used < 25 == Prototypes.load(full).used_axes
    assert "in use" not in out


def test_extend_adds_classes_to_a_file(capsys, tmp_path):
    old, new = tmp_path / "old.safetensors", tmp_path / "new.safetensors"
    code, out, err = run(capsys, "place", "cat,dog,fox", "3", "-o", str(old))
    assert (code, err) == (0, "")
    code, out, err = run(capsys, "extend", str(old), "owl", "-o", str(new))
    assert (code, err) == (0, "")
    assert "4 prototypes in 3 dimensions" in out
    before, after = Prototypes.load(old), Prototypes.load(new)
    assert after.names == ("cat", "dog", "fox", "owl")
    assert after.vectors[:3].equal(before.vectors)
    assert "1 by a search next to the others" in after.certificate.method
    code, out, _ = run(capsys, "extend", str(new), "bat,ant", "--json", "--effort", "fast")
    assert json.loads(out)["classes"] == 6


def test_extend_takes_a_number_where_the_old_classes_have_no_names(capsys, tmp_path):
    path = tmp_path / "old.safetensors"
    run(capsys, "place", "4", "3", "-o", str(path))
    code, out, _ = run(capsys, "extend", str(path), "2", "--effort", "fast", "--json")
    assert code == 0
    assert json.loads(out)["classes"] == 6


def test_place_with_names_and_a_prior_reports_both_sides(tmp_path, capsys, vectors):
    page = tmp_path / "page.html"
    main(["place", NAMES, "3", "--prior", vectors, "--page", str(page)])
    shown = capsys.readouterr().out
    assert "5 prototypes in 3 dimensions" in shown
    assert "triplets ordered as in the prior" in shown
    assert page.stat().st_size > 100_000


def test_sweep_goes_over_weights(capsys, vectors):
    code, out, _ = run(
        capsys, "sweep", NAMES, "3", "--prior", vectors, "--effort", "fast", "--json"
    )
    assert code == 0
    rows = json.loads(out)
    assert [row["label"] for row in rows][:2] == ["separation only", "assignment"]
    assert rows[2]["prior_agreement"]["ranked_by_margin"] > 0.5
    code, out, _ = run(capsys, "sweep", NAMES, "3", "--prior", vectors, "--effort", "fast")
    assert "separation against agreement with the prior" in out


def test_compare_goes_over_dimensions(capsys):
    code, out, _ = run(capsys, "compare", "4", "--dims", "2", "3", "--json")
    assert code == 0
    assert [row["dim"] for row in json.loads(out)] == [2, 3]
    code, out, _ = run(capsys, "compare", "4", "--dims", "3")
    assert "the paper's method" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["place", "1", "3"], "CLASSES must be at least 2; got 1"),
        (["place", "3", "1"], "D must be at least 2; got 1"),
        (["place", "30", "3", "--method", "papr"], 'Did you mean "paper"?'),
        (["place", "3", "3", "-o", "/no/such/folder/p"], '"/no/such/folder" must be a folder'),
        (
            ["place", "cats", "3"],
            'CLASSES must be a number, a file with one name per line, .*; got "cats"',
        ),
        (["place", "5", "3", "--prior-weight", "2"], "--prior must be given with --prior-weight"),
        (["place", "cat,dog,ox", "3", "--prior", "nowhere.txt"], "nowhere.txt"),
        (
            ["place", "3", "3", "--prior-weight", "x"],
            "--prior-weight must be a number or auto; got x",
        ),
        (["extend", "nowhere", "3"], 'No prototype file at "nowhere"'),
        (["compare", "4", "--dims", "1"], "--dims must be at least 2; got 1"),
    ],
)
def test_a_mistake_prints_one_sentence_and_exits_with_2(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert re.search(sentence, err)
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("verb", "missing"), [("place", []), ("sweep", ["5", "3"]), ("compare", []), ("extend", ["f"])]
)
def test_what_a_verb_needs_is_asked_for(capsys, verb, missing):
    code, _, err = run(capsys, verb, *missing)
    assert code == 2
    assert "required" in err.lower()


def test_a_list_may_be_longer_than_a_file_name():
    names = tuple(f"class_{index}" for index in range(500))
    assert read_classes(",".join(names)) == names


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("cat\ndog\n", encoding="utf-8-sig")
    assert read_classes(str(path)) == ("cat", "dog")
