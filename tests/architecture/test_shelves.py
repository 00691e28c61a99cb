"""Imports point down the shelves only, and the front door stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import hyperproto
from hyperproto.cli.main import VERBS

ROOT = Path(hyperproto.__file__).parent
SHELVES = {
    "_core": 0,
    "_version": -1,
    "defaults": 0,
    "runtime": 0.5,
    "spec": 1,
    "sphere": 1,
    "metrics": 1,
    "tasks": 1.5,  # in values; readers of data say what a column is by these
    "models": 1,
    "data": 2,
    "codes": 2,
    "priors": 3,
    "prototypes": 4,
    "losses": 4,
    "tasks.top_k": 4,
    "tasks.head": 4.4,  # a task on the sphere
    "tasks.*_head": 4.5,
    "spaces": 5,
    "baselines": 6,
    "export": 7,
    "training": 8,
    "evaluation": 9,
    "estimators": 10,
    "report": 10,
    "hub": 10,
    "loading": 11,
    "cli": 12,
}


def shelf_of(module: str) -> str:
    parts = module.split(".")[1:] or ["hyperproto"]
    if parts[0] == "tasks" and parts[-1].endswith("_head"):
        return "tasks.*_head"
    return longer if (longer := ".".join(parts[:2])) in SHELVES else parts[0]


def imported_shelves(source: str, depth: int = 0, *, at_once: bool = False) -> set[str]:
    """Return what a module imports, or only what it imports ``at_once``, when it is imported."""
    found = set()
    tree = ast.parse(source)
    for node in tree.body if at_once else ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.level:  # up from a module of the runtime, which is built under another name too
                names = [f"hyperproto.{node.module}"] if node.level > depth else []
            if node.module == "hyperproto":  # a module of it, or a name of the front door
                names = [f"hyperproto.{alias.name}" for alias in node.names]
        found |= {shelf_of(name) for name in names if name.split(".")[0] == "hyperproto"}
    return found


def upward(shelf: str, source: str, depth: int = 0) -> set[str]:
    """Return the shelves that ``source``, standing on ``shelf``, must not import.

    A task in values makes its head, which needs torch, the loss and prototypes, when it is asked.
    """
    return {
        s
        for s in imported_shelves(source, depth, at_once=shelf == "tasks")
        if s != shelf and SHELVES.get(s, 99) >= SHELVES[shelf]
    }


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_from_its_own_shelf_or_a_lower_one(path):
    parts = path.relative_to(ROOT).parts
    if parts in (("__init__.py",), ("__main__.py",)):
        return  # the front doors
    shelf = shelf_of(".".join(("hyperproto", *parts)).removesuffix(".py"))
    assert shelf in SHELVES, f"{shelf} needs a number"
    source = path.read_text(encoding="utf-8")
    assert shelf in ("runtime", "_core") or "from ." not in source, "imports are absolute"
    assert not upward(shelf, source, len(parts) - 1)


def test_nothing_in_the_library_imports_what_only_the_repository_has():
    for path in ROOT.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) (reproduction|tests|benchmarks)\b", source, re.M)


def test_the_rule_can_fail():
    assert upward("sphere", "from hyperproto.spaces import Space") == {"spaces"}
    assert upward("models", "import hyperproto.metrics") == {
        "metrics"
    }  # neighbors do not know each other
    assert upward("sphere", "import hyperproto") == {"hyperproto"}
    assert upward("sphere", "from hyperproto import models, defaults") == {"models"}
    assert upward("sphere", "from hyperproto import Space") == {"Space"}
    assert upward("tasks", "from hyperproto.prototypes import place") == {"prototypes"}
    assert not upward("tasks", "def f():\n    from hyperproto.prototypes import place")
    assert upward("data", "from hyperproto.tasks.head import Head") == {"tasks.head"}
    assert not upward("spaces", "from hyperproto.sphere import normalize")


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys; print('MODULES', *sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rsplit("MODULES", 1)[1].split())


HEAVY = {"torch", "numpy", "scipy", "matplotlib", "plotly", "sklearn", "accelerate", "safetensors"}


def test_importing_the_package_loads_nothing_heavy():
    assert not modules_after("import hyperproto") & HEAVY


@pytest.mark.parametrize(
    "arguments", [["--help"], *([verb, "--help"] for verb in VERBS)], ids=" ".join
)
def test_help_loads_nothing_heavy(arguments):
    code = f"from hyperproto.cli.main import main\ntry:\n    main({arguments})\nexcept SystemExit:\n    pass"
    assert not modules_after(code) & HEAVY


def test_training_a_space_loads_no_plotting_and_no_sklearn():
    loaded = modules_after("import hyperproto as hp; hp.Space(2, hp.Classes(3)); hp.fit")
    assert "torch" in loaded
    assert not loaded & {"matplotlib", "plotly", "sklearn"}


def test_a_space_with_a_closed_form_loads_no_other_codes_and_no_priors():
    loaded = modules_after("import hyperproto as hp; hp.Space(5, hp.Classes(10))")
    unused = "codes.algebra codes.search codes.large codes.ranking priors prototypes.methods"
    assert not loaded & {f"hyperproto.{name}" for name in unused.split()}
    assert not loaded & {"scipy", "sklearn", "joblib", "rich", "PIL", "pyarrow"}
    own = [name for name in loaded if name.partition(".")[0] == "hyperproto"]
    paths = [ROOT / "/".join(name.split(".")[1:]) for name in own]
    files = [path / "__init__.py" if path.is_dir() else path.with_suffix(".py") for path in paths]
    assert len(files) <= 25
    assert sum(file.read_text(encoding="utf-8").count("\n") for file in files) <= 5000


def test_a_prior_given_as_a_matrix_loads_neither_readers_of_examples_nor_of_files():
    loaded = modules_after(
        "from hyperproto.priors import as_prior; as_prior([[1, 0], [0, 1]], None, 2)"
    )
    assert not loaded & {"torch", "hyperproto.data", "hyperproto.priors.word_vector_files"}


def test_the_first_fit_loads_no_compiler():
    fit = "hp.fit(torch.nn.Linear(2, 2), hp.Space(2, hp.Classes(3)), (torch.ones(4, 2), torch.arange(4) % 3))"
    loaded = modules_after(f"import torch, hyperproto as hp\n{fit}")
    assert "hyperproto.training.loop" in loaded
    assert not loaded & {"torch._dynamo", "torch.distributed.tensor", "sympy"}


def test_reading_a_data_set_loads_neither_losses_nor_codes():
    loaded = modules_after("from hyperproto.data import read_cifar100, read_table, training_data")
    above = ("codes", "losses", "priors", "prototypes", "spaces", "training")
    assert "hyperproto.data.cifar100" in loaded
    assert not [
        name for name in loaded if name.startswith(tuple(f"hyperproto.{shelf}" for shelf in above))
    ]


def test_every_public_name_can_be_had():
    assert len(hyperproto.__all__) == len(set(hyperproto.__all__))
    namespaces = [
        name for name in hyperproto.__all__ if isinstance(getattr(hyperproto, name), ModuleType)
    ]
    assert len(hyperproto.__all__) - len(namespaces) <= 20
    for name in hyperproto.__all__:
        assert getattr(hyperproto, name) is not None
    for name in namespaces:
        module = getattr(hyperproto, name)
        assert [found for found in module.__all__ if not hasattr(module, found)] == []
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hyperproto.nonsense
