"""``hyperproto export``: a run as a folder that predicts without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from hyperproto.cli.evaluate import StoredRun


@dataclass
class Export(StoredRun):
    """Write a run, or a saved estimator, as a folder that predicts without torch: ONNX, prototypes
    and JSON.
    """

    output: Annotated[Path, arg(aliases=["-o"], metavar="FOLDER")]
    """The folder to write."""

    data: Annotated[Path | None, arg(metavar="PATH")] = None
    """Inputs to compare torch and onnxruntime on (default: the data of the run); an estimator needs
    a table.
    """

    overwrite: bool = False
    """Replace a model that was exported to FOLDER before."""

    def run(self) -> None:
        """Export, compare, print."""
        from hyperproto._core.errors import InputError
        from hyperproto.loading import is_estimator, load

        if not is_estimator(self.run_folder):
            from hyperproto.evaluation import export_run

            return print(export_run(self.open(), self.output, self.data, overwrite=self.overwrite))
        if self.data is None:
            raise InputError(
                "data",
                "be given for an estimator: rows to compare torch and onnxruntime on",
                "none",
            )
        from hyperproto._core.arrays import read_npy
        from hyperproto.data.table_files import read_frame

        model = load(self.run_folder)
        rows: Any = read_npy(self.data) if self.data.suffix == ".npy" else read_frame(self.data)
        known = getattr(model, "feature_names_in_", None)
        if known is not None and {*known} <= {*getattr(rows, "column_names", ())}:
            rows = rows.select(list(known))  # without what is to be predicted
        return print(model.export(self.output, rows, overwrite=self.overwrite))
