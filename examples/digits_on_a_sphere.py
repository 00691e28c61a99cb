"""Ten digits on the ordinary sphere S², watched while a network learns to point at them."""

import torch

import hyperproto as hp
from hyperproto.data import load_digits
from hyperproto.sphere import normalize

torch.manual_seed(0)
train, held_out = load_digits()
space = hp.Space(3, hp.Classes(10, loss=hp.losses.FreeNormSoftmax()))
network = torch.nn.Sequential(
    torch.nn.Flatten(),
    torch.nn.Linear(64, 128),
    torch.nn.BatchNorm1d(128),
    torch.nn.ReLU(),
    torch.nn.Linear(128, 3),
)
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)

frames, accuracies = [], []  # points on the sphere, shape (n, 3), before each epoch
for _ in range(12):
    network.eval()
    with torch.no_grad():
        z = network(held_out.inputs)
    frames.append(normalize(z))
    accuracies.append((space.predict(z) == held_out.targets).float().mean().item())
    network.train()
    for rows in torch.randperm(len(train.inputs)).split(64):
        loss = space(network(train.inputs[rows]), train.targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(
    f"{100 * accuracies[0]:.0f} % at the start, {100 * accuracies[-1]:.0f} % after {len(frames) - 1} epochs"
)
print(
    "No ten points on S² have a smaller maximum cosine than",
    f"{space.prototypes.certificate.bound:.3f},",
)
print("these have", f"{space.prototypes.certificate.max_cosine:.3f}")
assert accuracies[-1] > 0.9 > 0.3 > accuracies[0]
