from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from hyperproto._core.errors import InputTypeError
from hyperproto.data import (
    Augment,
    Batches,
    ImageData,
    ImageFiles,
    ImagePreprocessing,
    Split,
    as_examples,
)
from hyperproto.data.augment import normalize
from tests.refusals import refuses

PREPROCESSING = ImagePreprocessing(size=8, resize=10)
AUGMENT = Augment(padding=2, flip=True)


@pytest.fixture
def files(tmp_path):
    """Eleven small photographs of different shapes, numbered and dated."""
    rng = np.random.default_rng(0)
    paths = []
    for number in range(11):
        noise = rng.integers(0, 256, (12 + number, 20 - number, 3), dtype=np.uint8)
        paths.append(tmp_path / f"{number}.{'png' if number % 2 else 'jpg'}")
        Image.fromarray(noise).save(paths[-1])
    targets = {"class": torch.arange(11), "year": 1900 + torch.arange(11, dtype=torch.float64)}
    return Split(ImageFiles(paths), targets)


def pixels_split(n=11, side=10, channels=3):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(
        0, 256, (n, channels, side, side), dtype=torch.uint8, generator=generator
    )
    return Split(images, {"class": torch.arange(n)})


def same(ours, others):
    for (inputs, targets), (other_inputs, other_targets) in zip(ours, others, strict=True):
        assert torch.equal(inputs, other_inputs)
        assert targets.keys() == other_targets.keys()
        assert all(torch.equal(targets[name], other_targets[name]) for name in targets)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize(
    "augment", [AUGMENT, Augment(resized_crop=(0.3, 1))], ids=["crop", "resized crop"]
)
def test_streaming_gives_the_pixels_that_memory_gives(files, workers, augment):
    memory = ImageData(files, PREPROCESSING, augment=augment, keep="memory")
    streamed = ImageData(files, PREPROCESSING, augment=augment, keep="stream", workers=workers)
    assert (memory.keep, streamed.keep) == ("memory", "stream")
    for epoch in range(2):
        ours, others = (
            Batches(data, 4, shuffle=True, seed=3).epoch(epoch) for data in (memory, streamed)
        )
        same(list(ours), list(others))


def test_processes_and_batch_sizes_do_not_change_an_image():
    data = ImageData(pixels_split(), PREPROCESSING, augment=AUGMENT)

    def by_class(*batches):
        return {
            int(label): image
            for part in batches
            for inputs, targets in part.epoch(2)
            for image, label in zip(inputs, targets["class"], strict=True)
        }

    alone = by_class(Batches(data, 4, shuffle=True, seed=1))
    shared = by_class(
        *(Batches(data, 6, shuffle=True, seed=1, rank=rank, world=2) for rank in range(2))
    )
    assert len(alone) == len(shared) == 11
    assert all(torch.equal(alone[label], shared[label]) for label in alone)


def test_another_epoch_or_seed_varies_images_otherwise():
    data = ImageData(pixels_split(), PREPROCESSING, augment=AUGMENT)
    ids = torch.arange(11)
    first, _ = data.batch(ids, seed=0, epoch=0)
    assert torch.equal(first, data.batch(ids, seed=0, epoch=0)[0])
    assert not torch.equal(first, data.batch(ids, seed=0, epoch=1)[0])
    assert not torch.equal(first, data.batch(ids, seed=1, epoch=0)[0])


def test_evaluation_takes_the_centre_in_order_and_knows_no_chance(files):
    split = pixels_split()
    data = ImageData(split, PREPROCESSING, augment=AUGMENT)
    (inputs, targets), *rest = Batches(data, 8, shuffle=False).epoch()
    assert targets["class"].tolist() == list(range(8))
    assert len(rest) == 1
    middle = split.inputs[:8, :, 1:9, 1:9].permute(0, 2, 3, 1).numpy()
    assert torch.equal(inputs, normalize(middle, PREPROCESSING.mean, PREPROCESSING.std))
    streamed = ImageData(files, PREPROCESSING, augment=AUGMENT, keep="stream", workers=2)
    in_memory = ImageData(files, PREPROCESSING, keep="memory")
    same(Batches(in_memory, 4, shuffle=False).epoch(), Batches(streamed, 4, shuffle=False).epoch())


def test_inputs_are_float32_channels_last_and_targets_go_by_name(files):
    inputs, targets = ImageData(files, PREPROCESSING).batch(torch.tensor([3, 1]))
    assert inputs.shape == (2, 3, 8, 8)
    assert inputs.dtype == torch.float32
    assert inputs.is_contiguous(memory_format=torch.channels_last)
    assert targets["class"].tolist() == [3, 1]
    assert targets["year"].tolist() == [1903.0, 1901.0]


def test_one_example_is_a_row_of_a_batch():
    data = ImageData(pixels_split(), PREPROCESSING)
    assert as_examples(data, name="train") is data
    image, targets = data[-1]
    assert torch.equal(image, data.batch(torch.tensor([10]))[0][0])
    assert int(targets["class"]) == 10
    assert len(list(data)) == 11  # iterating ends


@pytest.mark.parametrize("keep", ["memory", "stream"])
def test_an_epoch_can_be_entered_in_the_middle(files, keep):
    data = ImageData(files, PREPROCESSING, augment=AUGMENT, keep=keep, workers=1)
    batches = Batches(data, 3, shuffle=True, seed=5)
    same(list(batches.epoch(1))[2:], list(batches.epoch(1, start=2)))
    assert list(batches.epoch(1, start=4)) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_a_process_without_examples_gets_an_empty_batch(workers):
    for keep in ("memory", "stream"):
        data = ImageData(
            pixels_split(n=5), PREPROCESSING, augment=AUGMENT, keep=keep, workers=workers
        )
        *_, (inputs, targets) = Batches(data, 4, shuffle=False, rank=1, world=2).epoch()
        assert inputs.shape == (0, 3, 8, 8)
        assert targets["class"].shape == (0,)


def test_streaming_leaves_the_chance_of_the_network_alone(files):
    data = ImageData(files, PREPROCESSING, keep="stream", workers=1)
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    list(Batches(data, 4, shuffle=True).epoch())
    assert torch.equal(torch.rand(3), expected)


def test_auto_keeps_in_memory_what_fits(files, monkeypatch):
    assert ImageData(files, PREPROCESSING).keep == "memory"
    monkeypatch.setattr(
        "psutil.virtual_memory", lambda: SimpleNamespace(available=4 * 11 * 300 - 1)
    )
    assert ImageData(files, PREPROCESSING).keep == "stream"
    assert ImageData(pixels_split(), PREPROCESSING).keep == "memory"  # it is there already
    with pytest.raises(
        ValueError, match='Unknown way to keep images "memroy".*Did you mean "memory"'
    ):
        ImageData(files, PREPROCESSING, keep="memroy")


def test_workers_fill_the_memory_with_what_one_process_decodes(files, monkeypatch):
    ids = torch.arange(11)
    alone = ImageData(files, PREPROCESSING, keep="memory", workers=0).batch(ids)
    monkeypatch.setattr("hyperproto.data.image_files.WORTH_A_WORKER", 1)
    monkeypatch.setattr("hyperproto.data.image_files.AT_ONCE", 3)
    same([ImageData(files, PREPROCESSING, keep="memory", workers=2).batch(ids)], [alone])


class TestCorrupt:
    @pytest.fixture(params=[200, 1], ids=["here", "in workers"], autouse=True)
    def worth_a_worker(self, request, monkeypatch):
        monkeypatch.setattr("hyperproto.data.image_files.WORTH_A_WORKER", request.param)

    def damage(self, files):
        files.inputs[4].write_bytes(b"<html>quota exceeded</html>")
        files.inputs[7].write_bytes(files.inputs[7].read_bytes()[:200])

    @pytest.mark.parametrize(
        "options", [{"keep": "memory"}, {"keep": "stream", "workers": 2}], ids=str
    )
    def test_the_first_is_named(self, files, options):
        self.damage(files)
        sentence = r'^"\S+4.jpg" must be an image; got a file of no known format .it starts with .*quota.*=True to leave'
        with pytest.raises(ValueError, match=sentence):
            list(Batches(ImageData(files, PREPROCESSING, **options), 4, shuffle=False).epoch())

    @pytest.mark.parametrize("keep", ["memory", "stream"])
    def test_they_are_left_out_when_asked_and_change_no_other(self, files, keep):
        ids = torch.tensor([i for i in range(11) if i not in (4, 7)])
        whole = ImageData(files, PREPROCESSING, augment=AUGMENT, keep="memory").batch(
            ids, seed=0, epoch=0
        )
        self.damage(files)
        with pytest.warns(
            UserWarning,
            match=r'2 of 11 images cannot be read and are left out; the first is "\S+4.jpg"',
        ):
            data = ImageData(
                files, PREPROCESSING, augment=AUGMENT, keep=keep, workers=1, skip_corrupt=True
            )
        assert [path.name for path in data.skipped] == ["4.jpg", "7.png"]
        assert len(data) == 9
        assert data.targets["class"].tolist() == ids.tolist()
        same([data.batch(torch.arange(9), seed=0, epoch=0)], [whole])

    def test_nothing_left_is_an_error(self, files):
        for path in files.inputs:
            path.write_bytes(b"")
        with pytest.raises(
            ValueError,
            match=r"None of the 11 images can be read. The first, \S+0.jpg., is an empty file",
        ):
            ImageData(files, PREPROCESSING, skip_corrupt=True)

    def test_a_missing_file_is_never_skipped(self, files):
        files.inputs[2].unlink()
        with pytest.raises(
            FileNotFoundError,
            match=r'2.jpg" must be an image file that can be opened: No such file',
        ):
            ImageData(files, PREPROCESSING, keep="memory", skip_corrupt=True)
        with pytest.raises(
            FileNotFoundError,
            match=r'2.jpg" must be an image file that can be opened: No such file',
        ):
            list(
                ImageData(files, PREPROCESSING, keep="stream", workers=1).batches(
                    [torch.arange(11)]
                )
            )


def test_pixels_of_another_size_are_scaled_and_their_middle_kept():
    stripes = torch.arange(40, dtype=torch.uint8).repeat(2, 1, 20, 1)  # (2, 1, 20, 40)
    data = ImageData(Split(stripes, {}), ImagePreprocessing(size=10, mean=(0.0,), std=(1.0,)))
    got = data.batch(torch.tensor([1]))[0] * 255
    assert got.shape == (1, 1, 10, 10)
    assert got[0, 0, 3].tolist() == pytest.approx([10.5 + 2 * i for i in range(10)], abs=1)


def test_what_cannot_be_images_is_refused():
    split = pixels_split()
    with refuses("Images in memory", "torch.float32", InputTypeError):
        ImageData(Split(split.inputs.float(), {}), PREPROCESSING)
    with refuses("Images in memory", "(11, 3, 10, 10)"):
        ImageData(split, ImagePreprocessing(size=8, mean=(0.5,), std=(0.5,)))
    with refuses("resize", "8 and 16"):
        ImageData(split, ImagePreprocessing(size=16, resize=8))
    with refuses("The side of images", "24,000"):
        ImagePreprocessing(size=24_000)
    with refuses("A data set", "none"):
        ImageData(pixels_split(n=0), PREPROCESSING)
    with refuses("workers", "-1"):
        ImageData(split, PREPROCESSING, workers=-1)


def test_a_list_of_paths_gives_back_every_path(tmp_path):
    paths = [tmp_path / name for name in ("a.jpg", "ä ö.png", "sub/b.jpg")]
    held = ImageFiles(paths)
    assert list(held) == paths
    assert list(ImageFiles(path for path in held)) == paths
    with pytest.raises(IndexError):
        held[3]


@pytest.fixture
def wide(tmp_path):
    """Write files twice as wide as high, red rising from left to right."""
    ramp = np.zeros((40, 80, 3), dtype=np.uint8)
    ramp[:, :, 0] = np.linspace(0, 255, 80)
    paths = [tmp_path / f"{k}.png" for k in range(60)]
    for path in paths:
        Image.fromarray(ramp).save(path)
    return Split(ImageFiles(paths), {"class": torch.zeros(60, dtype=torch.int64)})


def test_crops_of_whole_images_reach_the_ends_that_the_middle_square_lacks(wide):
    preprocessing = ImagePreprocessing(16, mean=(0.0,) * 3, std=(1.0,) * 3, resize=20)
    shares, ids = (0.08, 1.0), torch.arange(60)
    reach = {}
    for whole in (False, True):
        data = ImageData(
            wide, preprocessing, augment=Augment(resized_crop=shares, whole=whole), workers=0
        )
        red = data.pixels(ids, seed=0, epoch=0)[..., 0]
        assert red.shape == (60, 16, 16)
        reach[whole] = int(red.min()), int(red.max())
        assert np.array_equal(red, data.pixels(ids, seed=0, epoch=0)[..., 0])
        assert not np.array_equal(red, data.pixels(ids, seed=0, epoch=1)[..., 0])
        assert np.array_equal(
            data.pixels(ids), ImageData(wide, preprocessing, workers=0).pixels(ids)
        )  # the center
    assert reach[False][0] > 50
    assert reach[False][1] < 205
    assert reach[True][0] < 30
    assert reach[True][1] > 225


def test_the_authors_crops_vary_test_images_too_always_in_the_same_way(wide):
    augment = Augment(resized_crop=(0.08, 1.0), flip=True, whole=True, at_test=True)
    data = ImageData(
        wide,
        ImagePreprocessing(16, mean=(0.0,) * 3, std=(1.0,) * 3, resize=20),
        augment=augment,
        workers=0,
    )
    ids = torch.arange(60)
    found = data.pixels(ids)
    assert np.array_equal(found, data.pixels(ids))
    assert len(np.unique(found.reshape(60, -1), axis=0)) > 50
    assert (found[:, 0, -1, 0] > found[:, 0, 0, 0]).all()  # none is mirrored
