import pytest

from hyperproto.data import read_source
from hyperproto.data.readers import BUILT_IN, READERS, describe_source, detect
from tests.data import layouts

WRITERS = {
    "cifar-100": layouts.write_cifar100_binary,
    "imagenet-200": layouts.write_tiny_imagenet,
    "cub-200-2011": layouts.write_cub200,
    "omniart": layouts.write_omniart,
    "mnist": layouts.write_mnist,
    "table": layouts.write_painting_table,
    "image-folder": layouts.write_image_folder,
}


def test_every_source_has_a_small_copy():
    assert set(WRITERS) == {
        name for name, reader in READERS.items() if name not in BUILT_IN and not reader.variant
    }


@pytest.mark.parametrize("name", WRITERS)
def test_a_layout_is_known_by_its_files(tmp_path, name):
    assert detect(WRITERS[name](tmp_path)) == name


@pytest.mark.parametrize(
    "name", [name for name in WRITERS if name not in ("table", "image-folder")]
)
def test_a_published_layout_is_found_in_the_folder_that_holds_it(tmp_path, name):
    WRITERS[name](tmp_path)
    assert detect(tmp_path) == name
    assert read_source(tmp_path).name == name


def test_two_data_sets_in_one_place_must_be_told_apart(tmp_path):
    layouts.write_mnist(tmp_path)
    layouts.write_cub200(tmp_path)
    with pytest.raises(ValueError, match='got "cub-200-2011", "mnist". Choose one by `reader`'):
        read_source(tmp_path)
    assert len(read_source(tmp_path, "mnist").train) == 40
    with pytest.raises(ValueError, match='Unknown data set "minst".*Did you mean "mnist"'):
        read_source(tmp_path, "minst")
    with pytest.raises(FileNotFoundError, match="OmniArt not found"):
        read_source(tmp_path, "omniart")


def test_nothing_known_is_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="must hold data of a known layout; got none"):
        detect(tmp_path)
    with pytest.raises(
        FileNotFoundError, match="must be an existing folder or file of data. Check the path"
    ):
        detect(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ValueError, match="must hold data of a known layout"):
        detect(tmp_path / "notes.txt")


def test_options_reach_the_reader(tmp_path):
    layouts.write_omniart(tmp_path)
    assert len(read_source(tmp_path, from_year=1700).train) == 6


def test_a_source_is_described(tmp_path):
    found = describe_source(read_source(layouts.write_omniart(tmp_path)))
    assert found["examples"] == {"train": 8, "test": 4}
    assert found["inputs"] == "image files"
    year, school = found["targets"]["year"], found["targets"]["school"]
    assert (year["low"], year["high"], year["test"]) == (1600, 1950, {"beyond": 0, "missing": 0})
    assert (school["classes"], school["train"]) == (2, {"least": 4, "most": 4, "missing": 0})
    assert found["preprocessing"]["size"] == 224


def test_a_table_of_numbers_is_described(tmp_path):
    path = layouts.write_csv(tmp_path / "t.csv", ["x", "y"], [[1, 2], [3, 4]])
    source = read_source(path, ranges=["y"], held_out=0)
    assert describe_source(source)["inputs"] == "1 column: numbers in x"
