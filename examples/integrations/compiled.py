"""Network and loss in one compiled graph."""

import torch

import hyperproto as hp

torch.manual_seed(0)
space = hp.Space(16, hp.Classes(100, loss=hp.losses.FreeNormSoftmax()))
network = torch.nn.Linear(64, space.dim)
inputs, labels = torch.randn(256, 64), torch.randint(100, (256,))


def step(inputs, labels):
    return space(network(inputs), labels)


plain = step(inputs, labels)
plain_gradient = torch.autograd.grad(plain, network.weight)[0]
compiled = torch.compile(step, fullgraph=True)(
    inputs, labels
)  # one graph: nothing in the loss breaks it
gradient = torch.autograd.grad(compiled, network.weight)[0]
print(plain.item(), compiled.item())
assert torch.allclose(plain, compiled, rtol=1e-4)
assert torch.allclose(plain_gradient, gradient, atol=1e-5)
