"""The three sizes of every experiment: the paper's, one for two cores, one for tests.

``cpu`` must take at most 20 minutes a name on 2 cores: 2,400 seconds of one core. A step (forward and backward,
batch 128, one thread) takes near 0.07 s with ResNet-8 at 16 pixels and 0.26 s at 32. Table 3 has 28 cells, so 56 with
two seeds and 42 s for each. 8,000 images are 63 steps an epoch; six epochs are 378 steps, and measuring 4,000 images
after each, at a third of a step's cost, is 63 more: 441 x 0.07 s = 31 s. What differs from the paper then:

- images are scaled from 32 pixels (64 for ImageNet-200) to 16, and the padding of the random crop with them;
- ResNet-8 in the place of ResNet-32, with ``feature_norm``, without which outputs hardly leave the direction that
  they start in, in so few steps;
- 80 images of each class of CIFAR-100 to train on, 40 of ImageNet-200;
- two seeds, and of the dimensions only some.

Rate, momentum, weight decay, batch, loss, reduction and the shape of the schedule (a tenth after 40 % and 80 %) stay.
"""

from dataclasses import replace
from typing import Any

from hyperproto._core.registry import choose
from hyperproto.reproduction.spec import Options, Spec

__all__ = ["NOMINAL", "NUM_CLASSES", "at_scale"]

# images to train on and to measure on, as published; OmniArt's as the paper counts them
NOMINAL = {
    "cifar-100": (50_000, 10_000),
    "cifar-100-uneven": (10_100, 10_000),  # 2 + 4 + ... + 200
    "imagenet-200": (100_000, 10_000),
    "cub-200-2011": (5_994, 5_794),
    "omniart": (15_000, 8_353),
    "rotated-mnist": (29_208, 4_950),  # digits 2, 3, 4, 5 and 7
}
NUM_CLASSES = {
    "cifar-100": 100,
    "cifar-100-uneven": 100,
    "imagenet-200": 200,
    "cub-200-2011": 200,
    "omniart": 46,
    "rotated-mnist": 5,
}
NORMED: Options = (("feature_norm", True),)
SMALL: dict[str, Any] = {"network": "resnet-8", "network_options": NORMED}
CPU: dict[str, dict[str, Any]] = {
    "cifar-100": {**SMALL, "size": 16, "train_images": 8_000, "test_images": 4_000, "epochs": 6},
    # 10,100 images are 79 steps: 537 x 0.07 s = 38 s
    "cifar-100-uneven": {**SMALL, "size": 16, "test_images": 4_000, "epochs": 6},
    # 200 classes of 40
    "imagenet-200": {**SMALL, "size": 16, "train_images": 8_000, "test_images": 4_000, "epochs": 6},
    # batch 64 at 24 pixels: 94 steps of 0.075 s an epoch, 10 epochs: 70 s, measuring 8 s; Table 4 has 10 of these
    "cub-200-2011": {**SMALL, "size": 24, "test_images": 2_000, "epochs": 10},
    # 57 steps of 0.075 s an epoch, 8 epochs: 34 s and 3 s of measuring; Table 6 has 26 of these: 8 minutes
    "omniart": {**SMALL, "size": 24, "train_images": 3_600, "test_images": 1_000, "epochs": 8},
    # 47 steps of 0.4 s an epoch, 8 epochs: 150 s
    "rotated-mnist": {"train_images": 6_000, "test_images": 2_000, "epochs": 8},
}


def at_scale(spec: Spec, scale: str) -> Spec:
    """Return a cell of the paper's protocol at a scale; the paper's own is returned as it is."""
    return choose(scale, {"full": _full, "cpu": _cpu, "smoke": Spec.small}, what="scale")(spec)


def _full(spec: Spec) -> Spec:
    return spec


def _cpu(spec: Spec) -> Spec:
    if spec.kind != "train":
        return spec  # what is not trained takes seconds as it is
    made = replace(spec, **CPU.get(spec.data, {}), scale="cpu")
    if spec.network.startswith("densenet"):
        # blocks of 3 layers, near 0.25 s a step at 16 pixels: 47 steps an epoch, 4 epochs, measuring 42: 57 s
        options = (("blocks", (3, 3, 3)), *NORMED)
        made = replace(made, network="densenet-small", network_options=options, train_images=6_000, epochs=4)
    return made
