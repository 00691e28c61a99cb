import json
import warnings

import pytest

from hyperproto.cli.main import VERBS, options_of
from hyperproto.tasks import KINDS
from tests.cli.test_cli import run
from tests.data import layouts


def test_check_counts_a_published_data_set(capsys, tmp_path):
    code, out, err = run(capsys, "data", "check", str(layouts.write_cub200(tmp_path)))
    assert (code, err) == (0, "")
    assert "6 examples (the publisher has 5,994)" in out
    assert "3 classes" in out
    assert "every one can be read" in out


def test_check_speaks_json(capsys, tmp_path):
    code, out, _ = run(capsys, "data", "check", str(layouts.write_omniart(tmp_path)), "--json")
    report = json.loads(out)
    assert code == 0
    assert report["examples"] == {"train": 8, "test": 4}
    assert (report["targets"]["year"]["low"], report["targets"]["year"]["high"]) == (1600, 1950)
    assert report["unreadable"] == []


def test_check_reads_a_table_with_and_without_its_targets(capsys, tmp_path):
    path = str(layouts.write_painting_table(tmp_path))
    code, out, _ = run(capsys, "data", "check", path)
    assert code == 0
    assert "style" in out
    assert "--classes COLUMN" in out
    code, out, _ = run(
        capsys, "data", "check", path, "--image", "path", "--classes", "style", "--range", "year"
    )
    assert code == 0
    assert "2 classes: baroque, cubism" in out
    assert "a number from" in out


def test_check_suggests_to_learn_from_words_and_names_what_gives_the_answer_away(capsys, tmp_path):
    rows = [[f"where is my card number {n}", "ab"[n % 2], "yx"[n % 2]] for n in range(60)]
    path = str(
        layouts.write_csv(tmp_path / "asked.csv", ["what they said", "intent", "code"], rows)
    )
    code, out, _ = run(capsys, "data", "check", path)
    assert code == 0
    assert "--text 'what they said'" in out
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, out, err = run(capsys, "data", "check", path, "--classes", "intent")
    assert code == 0
    assert "learns from its words" in err
    assert '"code" alone predicts 100.0 %' in out
    code, out, err = run(
        capsys, "data", "check", path, "--classes", "intent", "--text", "what they said"
    )
    assert (code, err) == (0, "")
    assert "words in what they said" in out


def test_what_check_suggests_it_takes(capsys, tmp_path):
    rows = [[n % 24, ("Low", "Medium", "High")[n % 3], n * n] for n in range(60)]
    path = str(layouts.write_csv(tmp_path / "wind.csv", ["hour", "level", "x"], rows))
    code, out, _ = run(capsys, "data", "check", path)
    assert code == 0
    for option in ("--angle hour=24", "--grades level=Low,Medium,High"):
        assert option in out
        code, said, _ = run(capsys, "data", "check", path, *option.split())
        assert code == 0
        assert option.split()[1].partition("=")[0] in said


def test_check_names_an_image_that_is_a_web_page(capsys, tmp_path):
    folder = layouts.write_image_folder(tmp_path)
    (folder / "dog" / "2.png").write_text("<html>not found</html>")
    code, out, err = run(capsys, "data", "check", str(folder))
    assert code == 2
    assert "1 cannot be read" in out
    assert "it starts with b'<html>not found</html>'" in err
    assert err.count("\n") == 1
    assert run(capsys, "data", "check", str(folder), "--no-verify")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "got none"),
        (["--reader", "cub-200"], 'Did you mean "cub-200-2011"'),
        (
            ["--reader", "cifar-100"],
            "the publisher has it at https://www.cs.toronto.edu/~kriz/cifar.html",
        ),
        (["--reader", "mnist", "--classes", "a"], "name columns of a table"),
    ],
)
def test_a_mistake_prints_one_sentence_and_exits_with_2(capsys, tmp_path, arguments, sentence):
    code, out, err = run(capsys, "data", "check", str(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("verb", ["train", "data"])
def test_every_kind_of_task_has_an_option(verb):
    known = {flag for option in options_of(VERBS[verb]).values() for flag in option.flags}
    assert {f"--{kind}" for kind in KINDS} <= known
