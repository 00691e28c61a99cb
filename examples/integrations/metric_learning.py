"""``loss_func(embeddings, labels)``, as in pytorch-metric-learning, with one of its samplers."""

import torch
from pytorch_metric_learning.samplers import MPerClassSampler
from torch.utils.data import DataLoader, TensorDataset

import hyperproto as hp
from hyperproto.data import load_digits

torch.manual_seed(0)
train, test = load_digits()
loss_func = hp.Space(
    9, hp.Classes(10)
)  # in place of losses.NormalizedSoftmaxLoss(10, 9), and without its weights
sampler = MPerClassSampler(train.targets, m=8, length_before_new_iter=len(train.targets))
loader = DataLoader(TensorDataset(train.inputs, train.targets), batch_size=80, sampler=sampler)

network = torch.nn.Sequential(
    torch.nn.Flatten(),
    torch.nn.Linear(64, 128),
    torch.nn.ReLU(),
    torch.nn.Linear(128, loss_func.dim),
)
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(5):
    for inputs, labels in loader:
        loss = loss_func(network(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

accuracy = (loss_func.predict(network(test.inputs)) == test.targets).float().mean()
print(f"{100 * accuracy:.1f} %")
assert accuracy > 0.9
