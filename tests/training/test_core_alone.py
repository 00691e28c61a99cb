"""Training with what the core requires, and nothing else installed."""

import os
import subprocess
import sys

ALONE = """
import sys

for name in (
    "accelerate", "huggingface_hub", "joblib", "matplotlib", "onnx", "onnxruntime", "pandas",
    "PIL", "plotly", "psutil", "pyarrow", "pydantic", "rich", "sklearn",
):
    sys.modules[name] = None  # importing it raises ImportError

import torch
import hyperproto as hp

x = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))
data = x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()


def fit(folder, stop=None, **more):
    torch.manual_seed(0)
    space, steps = hp.Space(3, hp.Classes(3)), []

    def observe(z, targets):
        steps.append(len(z))
        if len(steps) == stop:
            raise KeyboardInterrupt

    space.observe = observe
    network = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Dropout(), torch.nn.Linear(8, 3))
    options = {"epochs": 3, "batch_size": 8, "checkpoint_seconds": 0, "progress": True, **more}
    return hp.fit(network, space, data, valid=data, folder=folder, **options)


whole = fit("whole")
try:
    fit("broken", stop=7)
except KeyboardInterrupt:
    again = fit("broken", resume=True)
assert whole.history == again.history
states = (run.network.state_dict().values() for run in (whole, again))
assert all(torch.equal(a, b) for a, b in zip(*states, strict=True))
assert hp.evaluate(whole.network, whole.space, data) == whole.metrics
"""


def test_training_needs_only_what_the_core_requires(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
