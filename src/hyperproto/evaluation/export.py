"""Export a stored run: its network, its space, and the calibration of its confidence."""

from pathlib import Path

from hyperproto._core.arrays import read_npy
from hyperproto._core.errors import InputError, arg
from hyperproto.evaluation.run_data import AnyRun, open_run, run_preprocessing, unlabeled
from hyperproto.export import Exported, export_model


def export_run(
    run: AnyRun, output: str | Path, data: object = None, *, overwrite: bool = False
) -> Exported:
    """Write a stored run as a folder that predicts without torch, and compare the two on real
    inputs.

    Parameters
    ----------
    run : path, or what ``open_run`` returned
    output : path
        The folder to write, new or empty; with ``overwrite`` it may hold another exported model.
    data : path or array, optional
        Inputs to compare torch and onnxruntime on: images, tables, or for a run on arrays such
        rows, or a .npy file of them (default: the data of the run).
    """
    run = open_run(run)
    record, calibration = run.record, run.calibration
    preprocessing = None if record.preprocessing is None else run_preprocessing(record)
    path = Path(data) if isinstance(data, str | Path) else None
    if data is None and record.spec is not None:
        source = run.read_source()
        preprocessing = preprocessing or source.preprocessing
        inputs: object = (source.test or source.train).inputs
    elif path is not None and preprocessing is not None:
        inputs, _ = unlabeled(record, preprocessing, [path])
    elif data is not None:
        inputs = data if path is None else read_npy(path)
    else:
        rule = (
            "be given for a run that does not know its data: inputs to compare torch and "
            "onnxruntime on"
        )
        advice = f"{arg('data', 'rows.npy')}, or run.export(folder, inputs) in Python."
        raise InputError("data", rule, "none", advice)
    best = record.best if run.which == "best" else None
    measures = record.metrics if best is None else best["valid"]
    return export_model(
        output,
        run.network,
        run.space,
        inputs,
        preprocessing=preprocessing,
        about=None if calibration is None else calibration.about,
        measures=measures,
        overwrite=overwrite,
    )
