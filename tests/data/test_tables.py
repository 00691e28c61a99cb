import csv
import io
import json
import math

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import parquet
from sklearn.feature_extraction.text import TfidfVectorizer

from hyperproto._core.errors import InputError, InputTypeError, MissingDataError
from hyperproto.data import TablePreprocessing, read_table
from hyperproto.data.preprocessing import is_sparse, preprocessing_from_dict
from hyperproto.data.readers import describe_source
from hyperproto.data.source import hold_out_rows
from hyperproto.data.table_files import describe_columns, read_columns, read_rows
from hyperproto.runtime.csv_files import read_table as read_rows_alone
from hyperproto.runtime.images import ImagePreprocessing, decode
from tests.data.layouts import save_image, write_csv, write_painting_table
from tests.refusals import refuses

PEOPLE = [
    ["60", "1.6", "a", "30"],
    ["70", "", "b", "40"],
    ["80", "1.8", "a", ""],
    ["90", "2.0", "", "60"],
]
HEADER = ["weight", "height", "group", "age"]


def write_people(root, rows=PEOPLE, name="people.csv"):
    return write_csv(root / name, HEADER, rows)


def cells_of(path):
    return {name: column.cells for name, column in read_columns(path).items()}


def test_a_table_of_images_with_empty_cells(tmp_path):
    path = write_painting_table(tmp_path)
    source = read_table(path, image="path", classes=["style"], ranges=["year"], held_out=0)
    assert source.name == "paintings"
    assert source.targets["style"].names == ("baroque", "cubism")
    assert (source.targets["year"].low, source.targets["year"].high) == (1600, 1870)
    assert source.train.targets["style"].tolist() == [0, 1, 0, -1, 0, 1, 0, 1, 0, 1]
    assert math.isnan(source.train.targets["year"][4])
    assert source.train.inputs[3] == tmp_path / "images" / "3.png"
    assert source.preprocessing.size == 24
    assert source.augment is not None


def test_a_table_may_name_images_anywhere_and_what_is_none_is_refused(tmp_path):
    """As SECURITY.md says: absolute paths, ``..`` and links are followed, what is there is decoded
    as an image.
    """
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    for index in range(3):
        save_image(outside / f"{index}.png", np.full((3, 8, 8), 10 * index, np.uint8))
    (inside / "link.png").symlink_to(outside / "2.png")
    rows = [[str(outside / "0.png"), "a"], ["../outside/1.png", "b"], ["link.png", "a"]]
    source = read_table(
        write_csv(inside / "t.csv", ["path", "side"], rows),
        image="path",
        classes=["side"],
        held_out=0,
    )
    found = [decode(path, ImagePreprocessing(8)).max() for path in source.train.inputs]
    assert found == [0, 10, 20]
    (outside / "1.png").write_text("a secret")
    with pytest.raises(InputError, match='1.png" must be an image; got a file of no known format'):
        decode(source.train.inputs[1], ImagePreprocessing(8))


def test_a_table_of_numbers_is_standardized_by_its_training_rows(tmp_path):
    source = read_table(write_people(tmp_path), classes=["group"], ranges=["age"], held_out=0)
    assert isinstance(source.preprocessing, TablePreprocessing)
    assert source.preprocessing.encoder.outputs == ("weight", "height", "height is empty")
    assert source.preprocessing.scaling.mean == pytest.approx((75, 1.8, 0))
    assert source.preprocessing.scaling.scale == pytest.approx((math.sqrt(125), math.sqrt(0.02), 1))
    assert source.train.inputs.dtype == torch.float32
    assert source.train.inputs[1].tolist() == pytest.approx(
        [70, 1.8, 1]
    )  # the median, and that it was empty
    assert source.augment is None
    one = read_table(write_people(tmp_path), columns=["weight"], ranges=["age"], held_out=0)
    assert one.train.inputs.shape == (4, 1)


def test_a_column_that_never_varies_divides_by_one(tmp_path):
    path = write_people(tmp_path, [["60", "1", "a", "3"], ["60", "2", "b", "4"]])
    assert read_table(
        path, ranges=["age"], columns=["weight"], held_out=0
    ).preprocessing.scaling.scale == (1.0,)


def test_bounds_and_names_come_from_training_and_the_test_table_is_scored_against_them(tmp_path):
    test = write_people(tmp_path, [["1", "1", "b", "99"], ["1", "1", "", ""]], "test.csv")
    source = read_table(write_people(tmp_path), classes=["group"], ranges=["age"], test=test)
    assert len(source.train) == 4
    assert source.test.targets["group"].tolist() == [1, -1]
    assert source.test.targets["age"][0] == 99
    assert (source.targets["age"].low, source.targets["age"].high) == (30, 60)
    source.targets["age"].check(source.test.targets["age"], "age")
    given = read_table(
        write_people(tmp_path),
        ranges=["age"],
        columns=["weight"],
        bounds={"age": (0, 100)},
        held_out=0,
    )
    assert (given.targets["age"].low, given.targets["age"].high) == (0, 100)


def test_labels_that_training_never_saw_are_a_sentence_and_a_choice(tmp_path):
    test = write_people(
        tmp_path, [["1", "1", "c", "9"], ["1", "1", "d", "9"], ["1", "1", "c", "9"]], "test.csv"
    )
    sentence = r'"group" in .*test.csv" must be among the 2 classes of the training data; got "c", "d" \(2 unseen in 3'
    with pytest.raises(ValueError, match=sentence):
        read_table(write_people(tmp_path), classes=["group"], test=test)
    source = read_table(
        write_people(tmp_path), classes=["group"], columns=["age"], test=test, unseen="missing"
    )
    assert source.test.targets["group"].tolist() == [-1, -1, -1]
    with pytest.raises(ValueError, match='Unknown rule for unseen labels "drop"'):
        read_table(
            write_people(tmp_path), classes=["group"], columns=["age"], test=test, unseen="drop"
        )


def test_a_separator_at_the_end_of_lines_makes_no_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,\n1,x,\n2,y,\n")
    assert cells_of(path) == {"a": ["1", "2"], "b": ["x", "y"]}
    path.write_text("a,b,\n1,x,\n2,y,z\n")
    assert cells_of(path)[""] == [None, "z"]


def test_a_table_of_few_rows_is_refused_where_some_are_held_out(tmp_path):
    path = write_people(tmp_path)
    with pytest.raises(InputError) as wrong:
        read_table(path, classes=["group"])
    assert (wrong.value.argument, wrong.value.got) == (f'"{path}"', 4)
    learned = read_table(path, classes=["group"], held_out=0)
    assert len(learned.train) == 4
    # a trained model may measure on as few as there are
    assert read_table(path, classes=["group"], targets=learned.targets).train


@pytest.mark.parametrize(
    ("options", "argument", "got"),
    [
        ({}, "classes", "none in either"),
        ({"ranges": ["age"], "columns": ["age"]}, "A column", '"age" 2 times'),
        ({"ranges": ["age"], "columns": ["weight"], "image": "group"}, "columns", "both"),
        ({"ranges": ["age"], "columns": ["weight"], "text": "group"}, "columns", "both"),
        ({"ranges": ["age"], "text": "weight", "image": "group"}, "text", "both"),
        ({"ranges": ["group"]}, 'Column "group" of "PATH"', "'a' in row 1 (3 of 4 rows)"),
        ({"ranges": ["age"], "bounds": {"weight": (0, 1)}}, "bounds", '"weight"'),
        (
            {"ranges": ["age"], "columns": ["weight"], "bounds": {"age": (1, 1)}},
            "low",
            "1 and 1",
        ),
        ({"ranges": ["age"], "image": "height"}, 'Column "height" of "PATH"', "none in row 2"),
        ({"ranges": ["age"], "image": "group"}, 'Column "group" of "PATH"', "none in row 4"),
        (
            {"ranges": ["age"], "image": "weight"},
            'Every image listed in "PATH"',
            'no "FOLDER/60" (4 of 4 missing)',
        ),
        ({"ranges": ["age", "height", "weight"], "classes": ["group"]}, '"PATH"', None),
    ],
)
def test_a_choice_that_cannot_work_is_refused(tmp_path, options, argument, got):
    path = write_people(tmp_path)
    with pytest.raises((InputError, MissingDataError)) as wrong:
        read_table(path, **options)
    assert wrong.value.argument == argument.replace("PATH", str(path))
    assert wrong.value.got == (got and got.replace("FOLDER", str(tmp_path)))


@pytest.mark.parametrize("options", [{"classes": ["groop"]}, {"ranges": ["age"], "image": "groop"}])
def test_a_column_that_is_not_there_is_named_with_the_nearest(tmp_path, options):
    with pytest.raises(InputError) as wrong:
        read_table(write_people(tmp_path), **options)
    assert wrong.value.rule == 'have a column "groop"'
    columns = '"weight", "height", "group", "age"'
    assert wrong.value.advice == f'Did you mean "group"? It has {columns}.'


@pytest.mark.parametrize(
    ("rows", "argument", "got"),
    [
        ([["1", "1", "a", "50"], ["2", "1", "b", "50"]], '"age"', "50 in all of 2 rows"),
        ([["1", "1", "a", ""], ["2", "1", "b", ""]], '"age"', "empty cells only"),
        ([["1", "1", "a", "3"], ["2", "1", "a", "4"]], '"group"', "one class, 'a'"),
        ([["1", "1", "", "3"], ["2", "1", "", "4"]], '"group"', "none"),
        (
            [["1", "", "a", "3"], ["2", "", "b", "4"]],
            'Column "height" of "PATH"',
            "empty cells only",
        ),
        (
            [["1", "1", "a", "3"], ["inf", "1", "b", "4"]],
            'Column "weight" of "PATH"',
            "inf in row 2 (1 of 2 rows)",
        ),
    ],
)
def test_a_column_that_cannot_work_is_refused(tmp_path, rows, argument, got):
    path = write_people(tmp_path, rows)
    with pytest.raises(InputError) as wrong:
        read_table(path, classes=["group"], ranges=["age"], held_out=0)
    assert wrong.value.argument == argument.replace("PATH", str(path))
    assert wrong.value.got == got


def test_a_constant_target_is_fine_with_bounds_of_ones_own(tmp_path):
    path = write_people(tmp_path, [["1", "1", "a", "50"], ["2", "1", "b", "50"]])
    source = read_table(
        path, columns=["weight"], ranges=["age"], bounds={"age": (0, 100)}, held_out=0
    )
    assert source.targets["age"].high == 100


@pytest.mark.parametrize("read", [read_columns, read_rows_alone], ids=["data", "runtime"])
@pytest.mark.parametrize(
    ("content", "argument", "got"),
    [
        (b"", "t.csv is empty.", None),
        (b"\xef\xbb\xbf\n \n", "t.csv is empty.", None),
        (b"a,b\n", 'Table "PATH"', "none"),
        (b"a,a\n1,2\n", 'Columns of "PATH"', '"a" 2 times'),
        (b"a,b\n1,2\n1,2,3\n", 'Row 2 of "PATH"', 3),
        (b"a,b\n\xff\xfe,2\n", 'Table "PATH"', "the byte 0xFF in line 2"),
        ("a,b\n1,Jos\u00e9\n".encode("latin-1"), 'Table "PATH"', "the byte 0xE9 in line 2"),
        (b'a,b\n"1,2\n', 'Table "PATH"', "an odd number of them"),
    ],
)
def test_a_broken_csv_is_refused_alike_by_training_and_by_the_runtime(
    tmp_path, read, content, argument, got
):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as wrong:
        read(path)
    assert wrong.value.argument == argument.replace("PATH", str(path))
    assert wrong.value.got == got


def test_an_empty_table_is_called_empty(tmp_path):
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InputError) as wrong:
        read_columns(tmp_path / "empty.csv")
    assert str(wrong.value) == "empty.csv is empty."


def test_what_else_separates_cells_is_seen_in_the_header(tmp_path):
    path = tmp_path / "t.csv"
    for mark in ";\t|":
        path.write_text(f'size{mark}kind\n 1 {mark}"a{mark}b"\n-0{mark}\n')
        assert cells_of(path) == {"size": ["1", "-0"], "kind": [f"a{mark}b", None]}
        assert read_rows_alone(path) == read_rows(path)
    (tmp_path / "t.tsv").write_text("a,b\n1,2\n")
    assert cells_of(tmp_path / "t.tsv") == {"a": ["1"], "b": ["2"]}


def test_between_semicolons_a_comma_is_a_decimal_point(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size;kind\n1,5;a,b\n-12,25;1,2,3\n")
    found = read_columns(path)
    assert found["size"].numbers().tolist() == [1.5, -12.25]
    assert found["kind"].cells == ["a,b", "1,2,3"]
    assert read_rows_alone(path) == read_rows(path)


def test_byte_order_marks_blanks_tabs_and_empty_lines_do_no_harm(tmp_path):
    (tmp_path / "t.csv").write_bytes("\ufeffa, b\n1 , x y\n\n ,\n".encode())
    assert cells_of(tmp_path / "t.csv") == {"a": ["1", None], "b": ["x y", None]}
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2,5\n")
    assert cells_of(tmp_path / "t.tsv") == {"a": ["1"], "b": ["2,5"]}
    with pytest.raises(FileNotFoundError, match="must be an existing file"):
        read_columns(tmp_path / "u.csv")
    (tmp_path / "t.xlsx").write_text("")
    with pytest.raises(ValueError, match="must end in .csv, .tsv or .parquet"):
        read_columns(tmp_path / "t.xlsx")


def test_columns_are_described(tmp_path):
    found = describe_columns(read_columns(write_people(tmp_path)))
    assert found["height"] == {"rows": 4, "empty": 1, "different": 3, "seems": "numbers"}
    assert found["group"]["seems"] == "text"


def test_parquet_is_read_like_csv(tmp_path):
    cells = {"weight": [60.0, 70.0, None], "grade": [3.0, math.nan, 4.0], "group": ["a", "b", ""]}
    parquet.write_table(pyarrow.table(cells), tmp_path / "t.parquet")
    source = read_table(tmp_path / "t.parquet", classes=["group", "grade"], held_out=0)
    assert source.train.targets["group"].tolist() == [0, 1, -1]
    assert source.targets["grade"].names == ("3", "4")
    assert source.preprocessing.scaling.mean == pytest.approx((65.0, 0))
    (tmp_path / "bad.parquet").write_bytes(b"<html>")
    with pytest.raises(ValueError, match="must be Parquet; got an error"):
        read_columns(tmp_path / "bad.parquet")


def test_a_parquet_file_that_repeats_rows_without_end_is_refused_before_it_is_read(tmp_path):
    rows = 3_000_000
    parquet.write_table(
        pyarrow.table({"x": pyarrow.repeat(0, rows)}), tmp_path / "t.parquet", compression="zstd"
    )
    with pytest.raises(
        ValueError,
        match=r"must have at most 1,000,000 cells and 8 per byte of the file; got 3,000,000 in [\d,]+ bytes",
    ):
        read_columns(tmp_path / "t.parquet")


HOSTILE = {
    "a long text in every row": (
        lambda: {
            "x": pyarrow.DictionaryArray.from_arrays(
                pyarrow.array([0] * 50_000, "int32"), ["x" * 100_000]
            )
        },
        "must take at most .* bytes",
    ),
    "rows for a bit each": (
        lambda: {"x": pyarrow.repeat(True, 6_000_000)},
        "must have at most 1,000,000 cells",
    ),
    "lists": (
        lambda: {
            "x": pyarrow.FixedSizeListArray.from_arrays(pyarrow.repeat(0, 1_000_000), 1_000_000)
        },
        r"must hold one value in each cell; got .*list",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_small_parquet_file_does_not_take_all_memory(tmp_path, case):
    columns, sentence = HOSTILE[case]
    parquet.write_table(pyarrow.table(columns()), tmp_path / "t.parquet", compression="zstd")
    with pytest.raises(ValueError, match=sentence):
        read_columns(tmp_path / "t.parquet")


def test_parquet_that_repeats_within_reason_is_read(tmp_path):
    few = pyarrow.array(["a class of a long name", "another", None] * 100_000).dictionary_encode()
    parquet.write_table(
        pyarrow.table({"x": few, "y": pyarrow.repeat(1.5, len(few))}), tmp_path / "t.parquet"
    )
    found = read_columns(tmp_path / "t.parquet")
    assert found["x"].cells[:3] == ["a class of a long name", "another", None]
    assert found["y"].cells[-1] == 1.5


def test_parquet_text_that_is_not_utf8_is_a_sentence(tmp_path):
    broken = pyarrow.array([b"\xff\xfe"], pyarrow.binary()).cast(pyarrow.string(), safe=False)
    parquet.write_table(pyarrow.table({"x": broken}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="must be Parquet; got an error .*[Uu][Tt][Ff]"):
        read_columns(tmp_path / "t.parquet")


def test_parquet_names_that_are_not_utf8_and_dates_beyond_the_calendar_are_sentences(tmp_path):
    dates = pyarrow.table({"day": pyarrow.array([2**30], pyarrow.int32()).cast(pyarrow.date32())})
    parquet.write_table(dates, tmp_path / "t.parquet")
    with pytest.raises(
        ValueError, match='Column "day" .* must hold dates of the years 1 to 9999; got another'
    ):
        read_columns(tmp_path / "t.parquet")["day"].values  # noqa: B018
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(content.replace(b"day", b"\xe2ay"))
    with pytest.raises(ValueError, match="must be Parquet; got an error"):
        read_columns(tmp_path / "t.parquet")


def test_a_column_is_named_by_text(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["x", "y"], [["1", "a"], ["2", "b"]])
    with refuses("The name of a column", "['y']", InputTypeError):
        read_table(path, classes=[["y"]])


def test_a_header_of_many_columns_is_read_in_no_time(tmp_path):
    names = [f"column {index}" for index in range(30_000)]
    path = write_csv(tmp_path / "t.csv", names, [["1"] * len(names)])
    assert list(read_columns(path)) == names


def test_a_header_of_a_million_columns_is_a_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("," * 1_000_000 + "\n")
    with pytest.raises(ValueError, match="must have at most 50,000 columns; got 1,000,001"):
        read_columns(tmp_path / "t.csv")


def test_hold_out_rows_leave_every_class_in_training():
    one = torch.tensor([0] * 50 + [1] * 50)
    rare = torch.full((100,), -1)
    rare[7], rare[8], rare[60] = 0, 1, 1
    for seed in range(20):
        kept, held = hold_out_rows([one, rare], 100, share=0.5, seed=seed)
        assert sorted([*kept.tolist(), *held.tolist()]) == list(range(100))
        assert {0, 1} <= set(rare[kept].tolist())
        assert abs(int((one[held] == 0).sum()) - 25) <= 2
    kept, held = hold_out_rows([], 10, share=0.3, seed=0)
    assert len(held) == 3


TRICKY = [
    b"a,b\n1,x\n2,y\n",
    b"\xef\xbb\xbf a ,b\r\n 1 , x y \r\n,\r\n\r\n-2e3,none\r\n",
    b'a,b\n"1,5","say ""hi"""\n"2\n3",\n',
    b"a,b\n007,true\n1_000,2020-01-01\n",
    "a,b\n\u00e9,\u0661\n".encode(),
    b"a\n1\n\n2\n",
]


@pytest.mark.parametrize("content", TRICKY)
def test_cells_are_those_of_the_csv_module(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")) if row]
    columns = zip(*[[cell.strip() or None for cell in row] for row in rows], strict=True)
    assert cells_of(tmp_path / "t.csv") == {name: cells for name, *cells in columns}


def test_cells_that_say_that_nothing_is_known_are_empty(tmp_path):
    rows = [["1", "a"], ["2", "NA"], ["3", "nan"], ["4", "b"], ["NaN", "N/A"], ["null", "nap"]]
    source = read_table(
        write_csv(tmp_path / "t.csv", ["x", "kind"], rows), classes=["kind"], held_out=0
    )
    assert source.targets["kind"].names == ("a", "b", "nap")
    assert source.train.targets["kind"].tolist() == [0, -1, -1, 1, -1, 2]
    assert source.train.inputs[:, 1].tolist() == [0] * 4 + [1] * 2


def test_numbers_beyond_bounds_of_ones_own_are_counted_aloud(tmp_path):
    path = write_csv(
        tmp_path / "t.csv", ["x", "age"], [["1", age] for age in ("5", "30", "40", "", "50")]
    )
    with pytest.warns(
        UserWarning, match='3 of 4 values of "age" lie beyond its bounds, 0 to 20, and count as'
    ):
        read_table(path, ranges=["age"], bounds={"age": (0, 20)}, held_out=0)


def write_reviews(root, rows=40):
    """Write a table with two columns that name the row, one of sentences, two of amounts, and one
    of classes.
    """
    header = ["id", "ticket", "review", "price", "stock", "kind", "day"]
    cells = [
        [i, f"T-{i}", f"this is number {i}", i / 7, i * i, "ab"[i % 2], f"2020-01-{i % 28 + 1:02}"]
        for i in range(rows)
    ]
    return write_csv(root / "reviews.csv", header, cells)


def test_amounts_are_no_classes(tmp_path):
    path = write_reviews(tmp_path)
    with refuses('"price"', "40 different values in 40 rows"):
        read_table(path, classes=["price"], columns=["kind"])
    with pytest.warns(
        UserWarning,
        match='"stock" has 40 different values in 40 rows, .* numbers=stock predicts it',
    ):
        read_table(path, classes=["stock"], columns=["kind"])
    with pytest.warns(
        UserWarning, match='"ticket" has 40 different values .* Is it what to predict'
    ):
        read_table(path, classes=["ticket"], columns=["kind"])


def test_columns_that_teach_nothing_are_named(tmp_path):
    with pytest.warns(UserWarning, match="every row|one by one") as seen:
        source = read_table(write_reviews(tmp_path), classes=["kind"])
    found = [str(warning.message) for warning in seen]
    assert [message.split()[0] for message in found] == ['"id"', '"ticket"', '"review"']
    assert found[0].endswith(
        "counts the rows one by one. " + (advice := found[1].partition("nothing. ")[2])
    )
    assert (
        advice == "Leave it out where it only names the row: `columns` lists those to learn from."
    )
    assert found[2].endswith("text=review learns from its words, and from nothing else.")
    named = "6 columns: numbers in id, price, stock; categories in ticket, review; dates in day"
    assert source.note == f"Learns from {named}."
    assert describe_source(source)["inputs"] == named


@pytest.mark.filterwarnings("error")
def test_a_text_that_is_learned_from_as_such_and_classes_of_few_examples_raise_no_warning(tmp_path):
    path = write_reviews(tmp_path)
    source = read_table(path, classes=["kind"], text="review", held_out=0)
    assert source.note == "Learns from 1 column: words in review, 33 different."
    read_table(write_reviews(tmp_path, 20), classes=["ticket"], columns=["kind"], held_out=0)


def test_numbers_are_read_as_float64(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["x"], [["1.5"], [""], [" -2e-3 "], ["1_000"], ["nan"]])
    values = read_columns(path)["x"].numbers()
    assert values.dtype == np.float64
    assert [None if math.isnan(value) else value for value in values.tolist()] == [
        1.5,
        None,
        -0.002,
        1000.0,
        None,
    ]


def test_columns_of_words_are_encoded_as_the_training_rows_have_them(tmp_path):
    rows = [
        ["60", "1.6", "a", "30"],
        ["70", "", "b", "40"],
        ["80", "1.8", "a", "50"],
        ["90", "2.0", "b", "60"],
    ]
    test = write_people(tmp_path, [["1", "", "c", "30"], ["2", "2", "b", "40"]], "test.csv")
    source = read_table(write_people(tmp_path, rows), ranges=["age"], test=test)
    columns = ("weight", "height", "height is empty", "group=a", "group=b")
    assert source.preprocessing.encoder.outputs == columns
    assert source.preprocessing.encoder.names == ("weight", "height", "group")
    torch.testing.assert_close(
        source.test.inputs, torch.tensor([[1, 1.8, 1, 0, 0], [2, 2, 0, 0, 1]])
    )
    again = preprocessing_from_dict(json.loads(json.dumps(source.preprocessing.to_dict())))
    assert again == source.preprocessing
    scaled = again.standardize(source.train.inputs)
    torch.testing.assert_close(scaled[:, :2].mean(dim=0), torch.zeros(2))
    assert torch.equal(scaled[:, 2:], source.train.inputs[:, 2:])  # zeros and ones stay as they are


def test_words_of_a_text_stay_sparse_and_are_weighted_as_scikit_learn_does(tmp_path):
    texts = ["a red apple", "a green apple", "the red red car", "the green car", ""]
    path = write_csv(
        tmp_path / "texts.csv", ["text", "kind"], [[text, len(text) > 12] for text in texts]
    )
    source = read_table(path, text="text", classes=["kind"], held_out=0)
    rows = source.train.inputs
    assert is_sparse(rows)
    wanted = TfidfVectorizer(sublinear_tf=True).fit_transform(texts).toarray()
    torch.testing.assert_close(rows.to_dense(), torch.from_numpy(wanted).float())
    scaled = source.preprocessing.standardize(rows).to_dense()
    assert float(scaled.square().mean()) == pytest.approx(1)
    again = preprocessing_from_dict(json.loads(json.dumps(source.preprocessing.to_dict())))
    found = again.encoder.encode({"text": ["an unheard of apple"]}).to_dense()
    assert found.sum() == pytest.approx(1)
    assert again.input_shape == (wanted.shape[1],)


def write_questions(root, rows=60):
    cells = [
        [n, f"where is my card number {n}", f"a note as long as this {n}"] for n in range(rows)
    ]
    answers = ["ab"[n % 2] for n in range(rows)]
    lines = [
        [str(cell) for cell in [*row, answer]] for row, answer in zip(cells, answers, strict=True)
    ]
    return write_csv(root / "questions.csv", ["id", "question", "note", "intent"], lines)


def test_sentences_are_learned_from_by_their_words_where_there_is_nothing_else(tmp_path):
    path = write_questions(tmp_path)
    source = read_table(path, classes=["intent"], columns=["id", "question"])
    (column,) = source.preprocessing.encoder.columns
    assert (column.name, column.kind) == ("question", "text")
    assert is_sparse(source.train.inputs)
    with pytest.raises(InputError) as raised:
        read_table(path, classes=["intent"])
    assert raised.value.argument == "text"
    again = read_table(path, classes=["intent"], encoder=source.preprocessing.encoder)
    assert torch.equal(again.test.inputs.to_dense(), source.test.inputs.to_dense())
