"""Small exported models, written without torch: inputs times a matrix, and what
the output means.
"""

import hashlib
from dataclasses import asdict

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

from hyperproto._core.files import write_json
from hyperproto.runtime.conformal import ConformalInterval, ConformalSets, Rejection
from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.runtime.model import (
    FORMAT,
    GRAPH,
    PROTOTYPES,
    FileForm,
    InputForm,
    Model,
    TaskForm,
)
from hyperproto.runtime.tables import ColumnCode, TableEncoder

TYPES = {"uint8": TensorProto.UINT8, "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
NAMES = ("cat", "<b>dog</b>", "fish", "owl")
WORDS = ColumnCode("text", "text", (1.0,) * 3, categories=("red", "sweet", "tall"))
CELLS = (
    ColumnCode("age", "number", (40.0,), gaps=True),
    ColumnCode("job", "categories", categories=("clerk", "<i>cook</i>")),
)
FORMS = {
    "rows": InputForm("rows", (5,), "float32"),
    "named": InputForm("rows", (2,), "float64", names=("height", "width")),
    "images": InputForm("images", (8, 8, 3), "uint8", images=ImagePreprocessing(8)),
    "text": InputForm("text", (3,), "float32", encoder=TableEncoder((WORDS,))),
    "table": InputForm("table", (4,), "float64", encoder=TableEncoder(CELLS)),
}


def write_model(folder, kind="rows", *, names=NAMES, dim=3, reject=None, seed=0):
    """Write a model with a class task, "kind", and a number, "size"; return its folder."""
    form, rng = FORMS[kind], np.random.default_rng(seed)
    width = int(np.prod(form.shape))
    prototypes = rng.standard_normal((len(names), dim))
    prototypes = (prototypes / np.linalg.norm(prototypes, axis=1, keepdims=True)).astype(np.float32)
    scale = 255.0 if form.dtype == "uint8" else 1.0
    weights = (rng.standard_normal((width, dim)) / scale).astype(np.float32)
    constants = {
        "flat": np.array([-1, width]),
        "weights": weights,
        "bias": np.full(dim, 0.01, dtype=np.float32),
        "prototypes": prototypes.T.copy(),
        "scale": np.array(10.0, dtype=np.float32),
        "first": np.array(0),
        "one": np.array([1]),
    }
    steps = [
        ("Cast", ["input"], "numbers", {"to": TensorProto.FLOAT}),
        ("Reshape", ["numbers", "flat"], "row", {}),
        ("MatMul", ["row", "weights"], "product", {}),
        ("Add", ["product", "bias"], "z", {}),
        ("LpNormalization", ["z"], "point", {"axis": 1, "p": 2}),
        ("MatMul", ["point", "prototypes"], "kind/scores", {}),
        ("ArgMax", ["kind/scores"], "kind/prediction", {"axis": 1, "keepdims": 0}),
        ("Mul", ["kind/scores", "scale"], "logits", {}),
        ("Softmax", ["logits"], "kind/probabilities", {"axis": 1}),
        ("ReduceMax", ["kind/scores", "one"], "best", {"keepdims": 0}),
        ("Neg", ["best"], "kind/outlier", {}),
        ("Gather", ["point", "first"], "size/value", {"axis": 1}),
    ]
    shapes = {
        "kind/prediction": [],
        "kind/scores": [len(names)],
        "kind/probabilities": [len(names)],
    }
    shapes |= {"kind/outlier": [], "size/value": [], "point": [dim]}
    graph = helper.make_graph(
        [
            helper.make_node(kind, inputs, [output], **options)
            for kind, inputs, output, options in steps
        ],
        "model",
        [helper.make_tensor_value_info("input", TYPES[form.dtype], ["n", *form.shape])],
        [
            helper.make_tensor_value_info(
                name,
                TensorProto.INT64 if name == "kind/prediction" else TensorProto.FLOAT,
                ["n", *shape],
            )
            for name, shape in shapes.items()
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    folder.mkdir(parents=True)
    (folder / GRAPH).write_bytes(made.SerializeToString())
    save_file({"kind": prototypes}, folder / PROTOTYPES)
    rejection = {} if reject is None else {"rejection": Rejection(reject, 0.05)}
    tasks = (
        TaskForm(
            "kind",
            "classes",
            classes=tuple(names),
            scale=10.0,
            outlier="strength",
            sets=(ConformalSets(0.9, 0.9),),
            **rejection,
        ),
        TaskForm(
            "size", "range", "number", low=-1.0, high=1.0, intervals=(ConformalInterval(None, 0.9),)
        ),
    )
    files = {name: FileForm(0, "") for name in (GRAPH, PROTOTYPES)}
    for name in files:
        content = (folder / name).read_bytes()
        files[name] = FileForm(len(content), hashlib.sha256(content).hexdigest())
    model = Model(FORMAT, form, tasks, bare=False, dim=dim, space={"kind": "space"}, files=files)
    write_json(folder / "model.json", asdict(model))
    return folder
