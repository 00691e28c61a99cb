"""The sphere in your own loop: handwritten digits, a network with three outputs, and no output
layer to learn.
"""

import torch

import hyperproto as hp
from hyperproto.data import load_digits

torch.manual_seed(0)
train, test = load_digits()
inputs, labels = train.inputs.flatten(1), train.targets
print(inputs.shape, labels[:5].tolist())

space = hp.Space(3, hp.Classes(10))
print(space.prototypes)

network = torch.nn.Sequential(
    torch.nn.Linear(64, 128),
    torch.nn.BatchNorm1d(128),
    torch.nn.ReLU(),
    torch.nn.Linear(128, space.dim),
)
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for epoch in range(20):
    for rows in torch.randperm(len(inputs)).split(128):
        loss = space(network(inputs[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: {space(network(inputs), labels):.3f}")

network.eval()
with torch.no_grad():
    z = network(test.inputs.flatten(1))
print(f"{100 * (space.predict(z) == test.targets).float().mean():.1f} % of held-out digits")

nearest = space.top_k(z[:1], 3)
print(nearest.ids.tolist(), nearest.values.numpy().round(2))
assert (space.predict(z) == test.targets).float().mean() > 0.9
