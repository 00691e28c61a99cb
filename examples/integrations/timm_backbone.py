"""A network of timm that ends on the sphere: by name, which a run can store, or built by timm
itself.
"""

import timm
import torch

import hyperproto as hp

torch.manual_seed(0)
space = hp.Space(9, hp.Classes(10))
by_name = hp.models.create_backbone(
    "timm:resnet10t", out_dim=space.dim
)  # load_pretrained() fetches timm's weights
by_timm = timm.create_model(
    "resnet10t", pretrained=False, num_classes=space.dim
)  # num_classes is the width

inputs, labels = torch.randn(8, 3, 32, 32), torch.arange(8)
for network in (by_name, by_timm):
    loss = space(network(inputs), labels)
    loss.backward()
    print(type(network).__name__, f"{loss.item():.3f}")
assert by_name(inputs).shape == by_timm(inputs).shape == (8, space.dim)
