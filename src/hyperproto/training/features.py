"""Features that do not change: computed once, kept in the run's folder, and trained on in place of
images.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from hyperproto._core.errors import InputError
from hyperproto._core.processes import from_first, own_device
from hyperproto._core.progress import progress_bar
from hyperproto.data import Source, Split
from hyperproto.models import FeatureBackbone
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import DataSpec
from hyperproto.training.build import Data, build_data
from hyperproto.training.checkpoint import write_tensors
from hyperproto.training.folder import FEATURES
from hyperproto.training.outputs import network_outputs

FORMAT = "hyperproto.features/1"
AT_ONCE = 16  # images; what a CPU's cache holds is faster than more


def freeze(network: nn.Module, source: Source, data: DataSpec, folder: Path | None) -> Source:
    """Return data in which features take the place of images.

    Parameters
    ----------
    network : FeatureBackbone
        With the weights it is going to keep.
    source : Source
        Images.
    data : DataSpec
        How they are loaded. They are not varied: each image has one row of features.
    folder : path, optional
        Of the run. Features found there are used where network and images are the same; else they
        are written.
    """
    if not isinstance(network, FeatureBackbone):
        got = f'"{getattr(network, "name", type(network).__name__)}"'
        raise InputError("freeze", "be left out for a network without features", got)
    tensors = from_first(lambda: _stored(network, source, data, folder))
    parts = {"train": source.train, "test": source.test}
    frozen = {
        part: Split(tensors[part], {name: tensors[f"{part}.{name}"] for name in split.targets})
        for part, split in parts.items()
        if split is not None
    }
    return replace(source, train=frozen["train"], test=frozen.get("test"))


def _stored(
    network: FeatureBackbone, source: Source, data: DataSpec, folder: Path | None
) -> dict[str, Tensor]:
    """Return features, and the targets of the images that can be read, from the
    folder or computed.
    """
    origin = {"features": json.dumps({"format": FORMAT, "origin": _origin(network, source, data)})}
    tensors: dict[str, Tensor] = {}
    if folder is not None and (folder / FEATURES).is_file():  # a pipe would be waited for
        with suppress(OSError, SafetensorError), safe_open(folder / FEATURES, "pt") as file:
            if file.metadata() == origin:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if _fit(tensors, network, source, data):
            return tensors
        tensors.clear()
    for part, images in zip(
        ("train", "test"), build_data(replace(data, augment=False), source), strict=True
    ):
        if images is not None:
            tensors[part] = _compute(network, images)
            named = by_name(images.targets)
            tensors |= {f"{part}.{name}": target for name, target in named.items()}
    if folder is not None:
        write_tensors(folder / FEATURES, tensors, **origin)
    return tensors


def _fit(
    tensors: dict[str, Tensor], network: FeatureBackbone, source: Source, data: DataSpec
) -> bool:
    """Whether stored tensors have the names, types and shapes of features of the source and of its
    targets.
    """
    form = {}
    for part, split in (("train", source.train), ("test", source.test)):
        if split is not None:
            rows = (
                tuple(tensors.get(part, torch.empty(0)).shape[:1])
                if data.skip_corrupt
                else (len(split),)
            )
            form[part] = (torch.float32, (*rows, network.num_features))
            form |= {
                f"{part}.{name}": (target.dtype, rows) for name, target in split.targets.items()
            }
    return form == {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}


def _compute(network: FeatureBackbone, images: Data) -> Tensor:
    """Return the features of images, shape (n, num_features)."""
    device = own_device()
    features = torch.empty(len(images), network.num_features)
    done = 0
    with progress_bar("computing features", len(images)) as bar:
        for rows, _ in network_outputs(
            network, images, batch_size=AT_ONCE, device=device, call=network.features
        ):
            features[done : done + len(rows)] = rows.cpu()
            done += len(rows)
            bar.update(done)
    return features


def _origin(network: FeatureBackbone, source: Source, data: DataSpec) -> str:
    """Return a hash of all that decides the features: weights, preparation, pixels or files,
    targets.
    """
    made = hashlib.sha256(
        json.dumps([source.preprocessing.to_dict(), data.skip_corrupt], sort_keys=True).encode()
    )
    for name, weights in network.state_dict().items():
        if not name.startswith(network.output_prefix):
            made.update(name.encode() + _bytes(weights))
    for split in (source.train, source.test):
        for part in _parts(split) if split is not None else ():
            made.update(part)
    return made.hexdigest()


def _parts(split: Split) -> Iterator[bytes]:
    for name, target in split.targets.items():
        yield name.encode() + _bytes(target)
    if isinstance(split.inputs, Tensor):
        yield _bytes(split.inputs)
        return
    for path in split.inputs:  # of a file: its name, size and time of change
        with suppress(OSError):
            found = path.stat()
            yield f"{path.name}/{found.st_size}/{found.st_mtime_ns}".encode()


def _bytes(tensor: Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().numpy().tobytes()
