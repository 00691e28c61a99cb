"""The loss in a training loop of one's own."""

import torch

import hyperproto as hp
from hyperproto.data import load_digits

torch.manual_seed(0)
train, held_out = load_digits()
inputs, labels = train.inputs.flatten(1), train.targets  # 64 pixels, 10 classes

space = hp.Space(
    5, hp.Classes(10)
)  # ten prototypes on a sphere in five dimensions, placed before training
network = torch.nn.Sequential(
    torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, space.dim)
)
optimizer = torch.optim.SGD(network.parameters(), lr=0.3, momentum=0.9)
for _ in range(100):
    loss = space.loss(
        network(inputs), labels
    )  # (1 - cosine to the class prototype)², no output layer to learn
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
predicted = space.predict(network(held_out.inputs.flatten(1)))

accuracy = (predicted == held_out.targets).float().mean().item()
print(f"{100 * accuracy:.1f} % of held-out digits, {space.prototypes}")
assert accuracy > 0.9
