"""Run by test_deep_ncm.py: two processes train all forms of Deep NCM, and each writes down what it
got.

They are forked, not started by torchrun, so that torch is imported once.
"""

import os
import sys

import torch

import hyperproto as hp
from reproduction.deep_ncm import DeepNCM
from tests.training.conftest import make_blobs, make_network

FORMS = ("condensation", "decay", "online")


def main(path: str) -> None:
    data = make_blobs(51)  # a last batch of 3
    data.targets["kind"][::4] = -1
    held = {}
    for mean in FORMS:
        space = DeepNCM(3, {"kind": hp.Classes(3)}, mean=mean, condense_every=3)
        network = make_network()
        data_of_kind = data.inputs, {"kind": data.targets["kind"]}
        hp.fit(network, space, data_of_kind, epochs=2, batch_size=16, lr=0.01)
        held |= {f"{mean}.{name}": tensor for name, tensor in space.state_dict().items()}
        held[f"{mean}.weights"] = torch.cat([p.detach().flatten() for p in network.parameters()])
    torch.save(held, f"{path}.{os.environ.get('RANK', '0')}")
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def fork(path: str, port: str) -> None:
    """Train in two children, which find each other as torchrun's would."""
    os.environ |= {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "CUDA_VISIBLE_DEVICES": "",
    }
    assert hp.fit  # imports what training needs
    children = []
    for rank in ("0", "1"):
        child = os.fork()
        if child == 0:
            os.environ |= {"RANK": rank, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2"}
            try:
                main(path)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]


if __name__ == "__main__":
    fork(*sys.argv[1:])
