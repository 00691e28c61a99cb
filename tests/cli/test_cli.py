import json
import subprocess
import sys

import pytest

from hyperproto import Prototypes, __version__
from hyperproto.cli.main import VERBS, main


def run(capsys, *arguments):
    """Return (exit code, standard output, standard error) of one command."""
    try:
        main(list(arguments))
        code = 0
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


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


def test_place_keeps_room_and_extends_a_file(capsys, tmp_path):
    old, new = tmp_path / "old.safetensors", tmp_path / "new.safetensors"
    code, out, err = run(capsys, "place", "--names", "cat,dog,fox", "3", "--reserve", "1", "-o", str(old))
    assert (code, err) == (0, "")
    assert "room for 1 more; maximum cosine with them" in out
    code, out, err = run(capsys, "place", "--extend", str(old), "--names", "owl", "-o", str(new))
    assert (code, err) == (0, "")
    assert "4 prototypes in 3 dimensions" in out
    before, after = Prototypes.load(old), Prototypes.load(new)
    assert after.names == ("cat", "dog", "fox", "owl")
    assert after.vectors[:3].equal(before.vectors)
    assert after.vectors[3:].equal(before.reserve)
    code, out, _ = run(capsys, "place", "--extend", str(new), "--names", "bat,ant", "--json", "--effort", "fast")
    assert json.loads(out)["classes"] == 6


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["place", "1", "3"], "K must be at least 2; got 1"),
        (["place", "3", "1"], "D must be at least 2; got 1"),
        (["place", "30", "3", "--method", "papr"], 'Did you mean "paper"?'),
        (["place", "3", "3", "-o", "/no/such/folder/p"], '"/no/such/folder" must be a folder'),
        (["train", "--folder", "/proc/nowhere", "--epochs", "1"], "cannot be written"),
        (["place", "3", "3", "--compare"], "leave out D, --max-cosine"),
        (["place", "3", "3", "--dims", "4"], "--dims goes with --compare"),
        (["place", "3", "3", "--max-cosine", "0.1"], "leave D out"),
        (["place", "3"], "Give the number of dimensions too"),
        (["place", "--extend", "nowhere", "3"], 'No prototype file at "nowhere"'),
        (["place", "--extend", "f"], "--extend needs the new classes: --names, or their number K"),
        (["place", "--extend", "f", "3", "--plot", "f.png"], "got --plot. Leave that out"),
        (["train", "--dim", "1"], "--dim must be at least 2; got 1"),
    ],
)
def test_a_mistake_prints_one_sentence_and_exits_with_2(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_an_unknown_option_exits_with_2(capsys):
    assert run(capsys, "place", "3", "3", "--colour", "red")[0] == 2
    assert run(capsys, "plaice")[0] == 2


def test_a_mistyped_option_names_the_nearest_of_its_verb_alone(capsys):
    code, out, err = run(capsys, "evaluate", "runs/a", "--outptu", "x")
    assert (code, out) == (2, "")
    assert "--output" in err
    assert "hyperproto place" not in err
    assert "hyperproto evaluate --help" in err


def test_the_help_lists_the_version_and_hides_defaults_of_none(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "--version" in out
    for verb in VERBS:
        code, out, _ = run(capsys, verb, "--help")
        assert code == 0
        assert "default: None" not in out
        assert "{None" not in out


def test_an_unknown_verb_gets_one_sentence_with_the_nearest(capsys):
    code, out, err = run(capsys, "trian", "--table", "birds.csv")
    assert (code, out) == (2, "")
    assert err.startswith('hyperproto: Unknown verb "trian".')
    assert err.endswith('Did you mean "train"?\n')


@pytest.mark.parametrize("words", [["--classes", "a", "--classes", "b"], ["--classes=a", "--classes=b"]])
def test_a_list_in_two_parts_is_refused_for_only_the_last_would_count(capsys, words):
    code, _, err = run(capsys, "train", "--table", "birds.csv", *words)
    assert code == 2
    assert err == "hyperproto: --classes must be given once; got it 2 times. List all after one: --classes A B.\n"


def test_a_single_value_given_twice_still_counts_as_its_last(capsys):
    code, out, _ = run(capsys, "place", "4", "3", "--seed", "1", "--seed", "2", "--json")
    assert code == 0
    assert json.loads(out)["proved"] is True


def test_version(capsys):
    assert run(capsys, "--version")[1] == f"hyperproto {__version__}\n"


def test_train_stores_a_run_that_loads(capsys, tmp_path):
    folder = tmp_path / "run"
    code, out, err = run(capsys, "train", "--epochs", "1", "--dim", "4", "--folder", str(folder))
    assert (code, err) == (0, "")
    assert "accuracy" in out
    assert (folder / "metrics.json").exists()


def test_train_knows_the_joint_task(capsys):
    code, out, _ = run(capsys, "train", "--data", "rotated-digits", "--dim", "3", "--epochs", "1", "--margin", "0.1")
    assert code == 0
    assert "digit/accuracy" in out
    assert "angle/mae" in out


def test_the_installed_command_works():
    done = subprocess.run([sys.executable, "-m", "hyperproto.cli.main", "--version"], capture_output=True, text=True)
    assert done.stdout == f"hyperproto {__version__}\n"


def test_a_defect_of_ours_keeps_its_traceback(monkeypatch):
    def broken(*args, **kwargs):
        raise ValueError("a bug")

    monkeypatch.setattr("hyperproto.prototypes.place", broken)
    with pytest.raises(ValueError, match="a bug"):
        main(["place", "3", "3"])


def test_place_with_names_and_a_prior_reports_both_sides(tmp_path, capsys):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 0 .1\ndog .9 .1 .1\noak 0 1 .2\npine 0 .9 .3\ncar .1 .1 1\n", encoding="utf-8")
    page = tmp_path / "page.html"
    names = "cat,dog,oak,pine,car"
    main(["place", "3", "--names", names, "--prior", str(vectors), "--neighbours", "2", "--page", str(page)])
    shown = capsys.readouterr().out
    assert "5 prototypes in 3 dimensions" in shown
    assert "triplets ranked right" in shown
    assert "in the prior" in shown
    assert page.stat().st_size > 100_000
    main(["place", "3", "--names", names, "--prior", str(vectors), "--neighbours", "2", "--of", "oak", "--json"])
    listed = json.loads(capsys.readouterr().out)["neighbours"]
    assert [row["name"] for row in listed] == ["oak"]
    assert listed[0]["prior"][0][0] == "pine"
    main(["place", "3", "--names", names, "--prior", str(vectors), "--sweep", "--effort", "fast", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["label"] for row in rows][:2] == ["separation only", "assignment"]
    assert rows[2]["meaning"]["ranked_by_margin"] > 0.5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["place", "7", "3", "--names", "cat,dog,ox"], "--names gives 3 classes; got K = 7"),
        (["place", "3", "--names", "nowhere.txt"], "--names must be a file"),
        (["place", "5", "3", "--sweep"], "go with --prior FILE"),
        (["place", "3", "--names", "cat,dog,ox", "--prior", "nowhere.txt"], "nowhere.txt"),
        (["place"], "Say how many classes"),
        (["place", "3", "--prior", "x.csv"], "--names FILE D"),
        (["place", "--names", "a,b,c", "--prior", "x.csv", "--max-cosine", ".1"], "for separation alone"),
        (["place", "3", "3", "--plot", "map.jpg"], 'must be named ".png" or ".svg"'),
        (["place", "5", "3", "--prior", "v.npy", "--neighbours", "0"], "--neighbours must be at least 1; got 0"),
        (["place", "5", "3", "--prior", "v.npy", "--of", "cat"], "add --neighbours N"),
        (["place", "5", "3", "--prior", "v.npy", "--sweep", "-o", "p", "--seconds", "1"], "got -o, --seconds"),
    ],
)
def test_place_with_a_prior_says_what_is_wrong(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
