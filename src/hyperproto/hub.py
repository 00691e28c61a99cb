"""Runs on Hugging Face's Hub: ``save_pretrained``, ``from_pretrained`` and ``push_to_hub``, with a
model card.

What is published is the folder of a run without what only training needs, and a ``README.md``.
``ModelHubMixin`` is not behind it: that deletes ``config.json`` where it saves, and passes what a
downloaded one says to a constructor.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hyperproto._core.errors import MissingDataError, require
from hyperproto._core.files import as_path
from hyperproto._core.folders import filling
from hyperproto.evaluation.run_data import open_run, run_preprocessing
from hyperproto.spaces.output_space import by_name
from hyperproto.training.run import describe_measures

FILES = (
    "config.json",
    "prototypes.*.safetensors",
    "epochs.jsonl",
    "metrics.json",
    "calibration.json",
)
WEIGHTS = ("last.safetensors", "best.safetensors")
FETCHING = {"revision", "token", "cache_dir", "local_files_only"}
MOST_NAMES = 100  # of classes, in a card
PIPELINES = (
    "image-classification",
    "text-classification",
    "tabular-classification",
    "tabular-regression",
)
CARD = """---
{data}
---

# A hyperspherical prototype network

Network `{network}`, outputs of dimension {dim}. To use it:

```python
from hyperproto.hub import HubModel
network, space = HubModel.from_pretrained("FOLDER or REPOSITORY")
```

On validation data: {measures}.

Calibration: {calibration}.
"""
CERTIFICATE = """
Certificate of the prototypes:

```json
{}
```
"""


class HubModel:
    """A stored run to publish, or one that was published: ``network, space =
    HubModel.from_pretrained("you/name")``.

    Parameters
    ----------
    folder : path
        Of a run, or what :meth:`save_pretrained` wrote.
    which : {"last", "best"}
        Which weights.
    **options
        ``network``, as for :func:`hyperproto.load`: needed only where it is not of this library.
    """

    def __init__(self, folder: str | Path, *, which: str = "last", **options: Any) -> None:
        run = open_run(folder, which=which, **options)
        self.network, self.space, self.which = run.network, run.space, which
        self.record, self.calibration = run.record, run.calibration

    def __iter__(self) -> Iterator[Any]:
        return iter((self.network, self.space))

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> "HubModel":
        """Read a model from a folder or, where there is none of that name, from a repository of the
        Hub.

        ``revision``, ``token``, ``cache_dir`` and ``local_files_only`` are those of
        ``huggingface_hub.snapshot_download``; ``network`` is that of the class.
        """
        fetching = {key: options.pop(key) for key in FETCHING & options.keys()}
        folder = as_path(name)
        if not folder.is_dir():
            fetching["allow_patterns"] = [*FILES, *WEIGHTS]
            try:
                folder = Path(_hub().snapshot_download(str(name), **fetching))
            except (OSError, ValueError) as error:
                rule = "be a folder, or a repository of the Hub that can be read"
                raise MissingDataError(f'"{name}"', rule, str(error).partition("\n")[0]) from error
        has_last, has_best = ((folder / name).is_file() for name in WEIGHTS)
        return cls(folder, which="best" if has_best and not has_last else "last", **options)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write weights, prototypes, description and card to a folder, which
        must be new or empty.
        """
        known = set(FILES) | {f"{self.which}.safetensors"}
        if self.calibration is None:  # or of other weights
            known.remove("calibration.json")
        with filling(folder, "config.json") as place:
            for pattern in known:
                for path in self.record.folder.glob(pattern):
                    shutil.copyfile(path, place / path.name)
            (place / "README.md").write_text(self.card(), encoding="utf-8")

    def push_to_hub(self, repo_id: str, *, private: bool = True, token: str | None = None) -> str:
        """Upload what :meth:`save_pretrained` writes, to a repository that is made if need be;
        return its address.
        """
        api = _hub().HfApi(token=token)
        with TemporaryDirectory() as place:
            self.save_pretrained(Path(place) / "model")
            address = api.create_repo(repo_id, private=private, exist_ok=True)
            api.upload_folder(repo_id=address.repo_id, folder_path=Path(place) / "model")
        return str(address)

    def card(self) -> str:
        """Return the model card as Markdown: measures, calibration, and each task with classes and
        certificate.
        """
        record, fitted = self.record, self.calibration
        best = record.best if self.which == "best" else None
        found = (record.metrics if best is None else best["valid"]) or {}
        measures = {name: value for name, value in found.items() if value is not None}
        told = "none"
        if fitted is not None:
            told = f"fitted on {fitted.examples} examples, {describe_measures(fitted.measures)}"
        data = _hub().ModelCardData(
            library_name="hyperproto",
            pipeline_tag=self._pipeline(),
            tags=["hyperspherical-prototypes"],
        )
        text = CARD.format(
            data=data.to_yaml(),
            network=(record.config["network"] or {}).get("name", type(self.network).__name__),
            dim=self.space.dim,
            measures=describe_measures(measures) or "nothing",
            calibration=told,
        )
        return text + "".join(map(self._task, self.space.tasks))

    def _pipeline(self) -> str | None:
        """Return what the Hub calls such a model: only where it has one task, and says what its
        inputs are.
        """
        if self.record.preprocessing is None or len(self.space.tasks) > 1:
            return None
        encoder, (task,) = run_preprocessing(self.record).encoder, self.space.tasks.values()
        inputs = "image"
        if encoder is not None:
            inputs = "text" if encoder.columns[0].kind == "text" else "tabular"
        name = f"{inputs}-{'regression' if task.reads == 'number' else 'classification'}"
        return name if name in PIPELINES else None

    def _task(self, name: str) -> str:
        """Return what the card says about a task."""
        task, placed = self.space.tasks[name], by_name(self.space.prototypes).get(name)
        about = f"A number: {task.describe()}"
        if task.reads != "number":
            names = [json.dumps(label, ensure_ascii=False) for label in task.names or ()]
            listed = ", ".join(names[:MOST_NAMES] + ["..."] * (len(names) > MOST_NAMES))
            about = f"{len(names) or task.num_classes} classes{listed and ': ' + listed}"
        text = f"\n## Task `{name}`\n\n{about}.\n"
        if placed is None:
            return text
        return text + CERTIFICATE.format(json.dumps(placed.certificate.to_dict(), indent=2))


def _hub() -> Any:
    return require("huggingface_hub", extra="hub", purpose="Publishing and downloading runs")
