"""A model with its sphere, stored and loaded as Hugging Face's Hub does; here from a folder."""

from tempfile import TemporaryDirectory

import torch
from huggingface_hub import PyTorchModelHubMixin

import hyperproto as hp


class SphereNet(torch.nn.Module, PyTorchModelHubMixin):
    def __init__(
        self, names: list[str], dim: int = 3, width: int = 32
    ):  # plain values: they become config.json
        super().__init__()
        self.space = hp.Space(dim, hp.Classes(names))
        self.network = torch.nn.Sequential(
            torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Linear(width, dim)
        )

    def forward(self, inputs):
        return self.space.decode(self.space.predict(self.network(inputs)))


torch.manual_seed(0)
model = SphereNet(names=["cat", "dog", "owl"])
with TemporaryDirectory() as folder:
    model.save_pretrained(folder)  # push_to_hub("you/name") uploads the same files
    again = SphereNet.from_pretrained(folder)

inputs = torch.randn(4, 8)
print(again(inputs))
assert again(inputs) == model(inputs)
