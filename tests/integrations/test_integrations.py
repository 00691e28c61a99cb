"""What the documentation says about other libraries runs with them; ``make test-integrations`` has
them all.
"""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "integrations"
NEEDS = {
    "compiled": "torch",
    "hf_trainer": "transformers",
    "hub": "huggingface_hub",
    "lightning_module": "lightning",
    "metric_learning": "pytorch_metric_learning",
    "skorch_net": "skorch",
    "timm_backbone": "timm",
}


SLOW = {"compiled"}  # the compiler takes longer than everything else


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in sorted(NEEDS)]
)
def test_an_integration_holds(name, tmp_path):
    try:
        importlib.import_module(NEEDS[name])
    except (
        ImportError,
        RuntimeError,
    ) as error:  # torchvision of another build than torch's raises the latter
        pytest.skip(f"{NEEDS[name]} cannot be imported: {error}")
    if name == "compiled" and shutil.which("g++") is None:
        pytest.skip("torch.compile needs a C++ compiler")
    path = EXAMPLES / f"{name}.py"
    assert path.read_text().rstrip().splitlines()[-1].startswith("assert ")
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TMPDIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_every_integration_is_known():
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(NEEDS)
