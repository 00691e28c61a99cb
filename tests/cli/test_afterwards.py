"""evaluate, predict and runs as somebody types them."""

import csv
import io
import json
import shutil

import pytest

from hyperproto.data.readers import describe_data
from hyperproto.spec import RunSpec, TrainSettings
from hyperproto.training import train
from tests.cli.test_cli import run
from tests.data.layouts import write_csv
from tests.evaluation.conftest import image_run, table_run, write_images, write_numbers  # noqa: F401  # fixtures


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Tables are not to be cut off at eighty letters."""
    monkeypatch.setenv("COLUMNS", "200")


def test_evaluate_prints_measures_worst_classes_and_mistakes(capsys, image_run):  # noqa: F811
    code, out, err = run(capsys, "evaluate", str(image_run.folder), "--data", str(image_run.data))
    assert (code, err) == (0, "")
    assert "test: 15 examples" in out
    assert f"{100 * image_run.run.metrics['class/accuracy']:.2f} %" in out
    assert "all classes" in out
    assert "dark" in out


def test_evaluate_prints_quantiles_and_finds_its_own_data(capsys, table_run):  # noqa: F811
    code, out, _ = run(capsys, "evaluate", str(table_run.folder), "--worst", "1")
    assert code == 0
    assert "height: 90 % of errors are at most" in out
    assert "the 1 worst of 2 classes" in out


def test_evaluate_prints_json(capsys, image_run):  # noqa: F811
    code, out, _ = run(
        capsys, "evaluate", str(image_run.folder), "--data", str(image_run.data), "--json"
    )
    assert code == 0
    assert json.loads(out)["measures"] == image_run.run.metrics


def test_predict_prints_a_table_csv_and_json(capsys, image_run, tmp_path):  # noqa: F811
    files = [
        str(image_run.data / "test" / "dark"),
        str(image_run.data / "test" / "light" / "0.png"),
    ]
    code, out, err = run(capsys, "predict", str(image_run.folder), *files)
    assert (code, err) == (0, "")
    assert "  cosine 0." in out
    code, out, _ = run(
        capsys, "predict", str(image_run.folder), *files, "--format", "csv", "--top", "1"
    )
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["file"] for row in rows] == [f"{files[0]}/{i}.png" for i in range(5)] + files[1:]
    assert all(-1 <= float(row["class/cosine"]) <= 1 for row in rows)
    path = tmp_path / "found.json"
    code, out, _ = run(capsys, "predict", str(image_run.folder), *files, "-o", str(path))
    assert (code, out) == (0, "")
    assert [row["predictions"]["class"]["name"] for row in json.loads(path.read_text())] == [
        row["class"] for row in rows
    ]


def test_predict_writes_rows_of_a_table_as_csv(capsys, table_run, tmp_path):  # noqa: F811
    path = tmp_path / "found.csv"
    code, _, _ = run(capsys, "predict", str(table_run.folder), str(table_run.data), "-o", str(path))
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert list(rows[0]) == [
        "file",
        "row",
        "side",
        "side/cosine",
        "side/2",
        "side/2/cosine",
        "height",
    ]
    assert len(rows) == 40
    path.write_text("mine")
    code, _, err = run(
        capsys, "predict", str(table_run.folder), str(table_run.data), "-o", str(path)
    )
    assert code == 2
    assert f'--output must be a new file; got "{path}". --overwrite replaces it.' in err
    assert path.read_text() == "mine"
    run(
        capsys,
        "predict",
        str(table_run.folder),
        str(table_run.data),
        "-o",
        str(path),
        "--overwrite",
    )
    assert len(path.read_text().splitlines()) == 41


def test_a_text_is_predicted_as_it_would_be_in_a_table(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = {"card": ["lost", "blocked"], "loan": ["rate", "borrow"]}
    rows = [[f"is it {words[kind][n % 2]}", kind] for n in range(20) for kind in words]
    write_csv(tmp_path / "asked.csv", ["about", "kind"], rows)
    command = ["train", "--table", "asked.csv", "--classes", "kind", "--text", "about"]
    assert run(capsys, *command, "--epochs", "20")[0] == 0
    texts = ["My card is LOST", "what rate, ?", " "]
    write_csv(tmp_path / "new.csv", ["about"], [[text] for text in texts])
    assert run(capsys, "export", "runs/asked-1", "-o", "model")[0] == 0
    for place in ("runs/asked-1", "model"):
        json_of = ["predict", place, "--format", "json"]
        code, out, err = run(capsys, *json_of, "--text", *texts)
        assert (code, err) == (0, "")
        found, in_table = json.loads(out), json.loads(run(capsys, *json_of, "new.csv")[1])
        assert [row["text"] for row in found] == texts
        assert [row["predictions"] for row in found] == [row["predictions"] for row in in_table]
        assert [row["predictions"]["kind"]["name"] for row in found][:2] == ["card", "loan"]
        for files in ([], ["new.csv", "--text", "lost"]):
            code, _, err = run(capsys, "predict", place, *files)
            assert (code, err.splitlines()[0].startswith("hyperproto: FILE")) == (2, True)


@pytest.fixture
def calibrated(capsys, table_run, tmp_path):  # noqa: F811
    """A copy of a run that may be written to, calibrated on its own test part
    as somebody types it.
    """
    folder = shutil.copytree(table_run.folder, tmp_path / "run")
    data = write_numbers(tmp_path / "held.csv", n=60, seed=7)
    code, out, err = run(
        capsys,
        "calibrate",
        str(folder),
        "--data",
        str(data),
        "--coverage",
        "0.8",
        "--reject",
        "0.2",
    )
    assert (code, err) == (0, "")
    assert "Calibrated on 60 examples" in out
    assert "side: calibration error before" in out
    assert "height: width of an interval" in out
    return folder, data


def test_a_calibrated_run_is_evaluated_with_its_promises_and_with_unknown_rows(
    capsys, calibrated, tmp_path
):
    folder, data = calibrated
    (tmp_path / "strange.csv").write_text("a,b\n0,0\n0.01,0\n")
    arguments = (
        "evaluate",
        str(folder),
        "--data",
        str(data),
        "--unknown",
        str(tmp_path / "strange.csv"),
    )
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    for words in (
        "side: calibration error",
        "side: coverage of sets, stated 80 %",
        "side: known called unknown, stated 20 %",
        "height: coverage of intervals, stated 80 %",
        "side: AUROC",
        "side: unknown accepted with 95 % of known",
        "side: AUPR",
        "side: OSCR",
        "side: unknown called unknown",
        "was fitted on this very data",
    ):
        assert words in out
    assert "not calibrated" not in out
    code, out, _ = run(capsys, *arguments, "--json")
    assert json.loads(out)["unknown"]["side"]["unknown"] == 2


def test_a_run_that_is_not_calibrated_says_so(capsys, table_run):  # noqa: F811
    code, out, _ = run(capsys, "evaluate", str(table_run.folder))
    assert code == 0
    assert "not calibrated: hyperproto calibrate" in out


def test_predict_writes_no_class_that_a_spreadsheet_would_run(capsys, tmp_path):
    formula = "=cmd|' /C calc'!A0"
    table = write_csv(
        tmp_path / "t.csv", ["a", "side"], [[i, (formula, "cat")[i % 2]] for i in range(20)]
    )
    data = describe_data(table, "table", classes=["side"])
    train(
        RunSpec(data=data, train=TrainSettings(epochs=1, batch_size=8)),
        tmp_path / "run",
        progress=False,
    )
    code, _, _ = run(
        capsys, "predict", str(tmp_path / "run"), str(table), "-o", str(tmp_path / "found.csv")
    )
    assert code == 0
    cells = [
        cell
        for row in csv.reader((tmp_path / "found.csv").read_text().splitlines())
        for cell in row
    ]
    assert f"'{formula}" in cells
    assert formula not in cells


def test_a_calibrated_run_predicts_probabilities_sets_intervals_and_unknown(capsys, calibrated):
    folder, data = calibrated
    code, out, _ = run(capsys, "predict", str(folder), str(data), "--format", "csv", "--top", "1")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == [
        *(
            "file",
            "row",
            "side",
            "side/cosine",
            "side/probability",
            "side/set",
            "height",
            "height/low",
            "height/high",
        )
    ]
    assert {row["side"] for row in rows} == {"left", "right", "unknown"}
    assert {row["side/set"] for row in rows} <= {"left", "right", "left | right", "right | left"}
    assert all(
        float(row["height/low"]) <= float(row["height"]) <= float(row["height/high"])
        for row in rows
    )


def test_a_table_on_the_screen_has_a_column_per_task_and_a_line_per_class(capsys, calibrated):
    folder, data = calibrated
    code, out, _ = run(capsys, "predict", str(folder), str(data), "--format", "json")
    [first, *_] = json.loads(out)
    code, out, _ = run(capsys, "predict", str(folder), str(data))
    assert code == 0
    side, height = first["predictions"]["side"], first["predictions"]["height"]
    for guess in side["top"]:
        assert f"{guess['name']}  probability {guess['probability']:.3f}" in out
    assert f"{height['value']:.4g} ({height['low']:.4g} to {height['high']:.4g})" in out
    assert "unknown" in out


def test_runs_lists_runs_and_what_is_wrong_with_them(capsys, image_run, tmp_path):  # noqa: F811
    root = image_run.folder.parent
    (root / "broken").mkdir(exist_ok=True)
    (root / "broken" / "config.json").write_text("{")
    code, out, err = run(capsys, "runs", str(root), "--sort", "class/accuracy")
    assert (code, err) == (0, "")
    assert "4/4" in out
    assert "digit-net" in out
    assert "broken is damaged" in out
    code, out, _ = run(capsys, "runs", str(root), "--json")
    assert [row["state"] for row in json.loads(out)] == ["damaged", "finished"]
    code, out, _ = run(capsys, "runs", str(tmp_path))
    assert (code, out.startswith("No runs in")) == (0, True)


def test_mistakes_print_one_sentence_in_the_words_of_the_command_line(capsys, image_run, tmp_path):  # noqa: F811
    folder, data = str(image_run.folder), write_images(tmp_path / "data", ("dark", "blue"), n=1)
    (data / "dark" / "0.png").write_bytes(b"")
    cases = {
        ("evaluate", folder): "does not know its data. Say where it is: --data PATH",
        (
            "evaluate",
            folder,
            "--data",
            str(data),
        ): "give --unseen missing to leave those labels out",
        ("evaluate", str(tmp_path)): 'must hold a run; got no "config.json"',
        ("predict", folder, str(data)): "use --skip-corrupt to leave such images out",
        ("predict", folder): "at least one file",
        (
            "predict",
            folder,
            str(data),
            "-o",
            str(tmp_path / "found.txt"),
        ): "must end in .csv or .json",
        ("runs", str(tmp_path / "none")): "must be a folder of runs",
    }
    for arguments, sentence in cases.items():
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "")
        assert sentence in err
        assert err.count("\n") == 1
    code, out, err = run(capsys, "predict", folder, str(data), "--skip-corrupt", "--format", "csv")
    assert code == 0
    assert out.count("\n") == 2
    assert f'Left out, unreadable: 1, the first "{data}/dark/0.png".' in err
