"""A trained model, exported, and used by a process that cannot import torch."""

import json
import subprocess
import sys
from tempfile import TemporaryDirectory

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from hyperproto.estimators import HypersphericalClassifier

WITHOUT_TORCH = """
import json, sys
sys.modules["torch"] = None  # importing it is an error from here on
from hyperproto.runtime import Predictor
rows = json.load(sys.stdin)
print(json.dumps([str(name) for name in Predictor(sys.argv[1]).predict(rows)]))
"""

wine = load_wine(as_frame=True)
X, X_test, y, y_test = train_test_split(wine.data, wine.target_names[wine.target], random_state=0)
model = HypersphericalClassifier(random_state=0).fit(X, y)
with TemporaryDirectory() as folder:
    report = model.export(
        f"{folder}/model", X_test
    )  # compares torch and onnxruntime on these rows first
    rows = json.dumps(X_test.to_dict("records"))
    command = [sys.executable, "-c", WITHOUT_TORCH, f"{folder}/model"]
    answers = json.loads(
        subprocess.run(command, input=rows, capture_output=True, text=True, check=True).stdout
    )

print(report)
print(answers[:3])
assert answers == model.predict(X_test).tolist()
