"""One space in several threads: used while another thread moves it, and trained with in all of
them.
"""

import sys
import threading

import pytest
import torch

import hyperproto as hp


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_buffers_do_not_vanish_while_a_space_is_moved(quick_switches):
    space = hp.Space(3, kind=hp.Classes(4, class_weight=[1.0, 2.0, 1.0, 1.0]), size=hp.Range(0, 1))
    z, targets = torch.randn(8, 3), {"kind": torch.arange(8) % 4, "size": torch.rand(8)}
    wanted, failed, done = space.loss(z, targets), [], threading.Event()

    def move():
        while not done.is_set():
            space.to("cpu")

    mover = threading.Thread(target=move)
    mover.start()
    for _ in range(300):
        try:
            torch.testing.assert_close(space.loss(z, targets), wanted, rtol=0, atol=0)
        except Exception as error:
            failed.append(error)
    done.set()
    mover.join()
    assert not failed, f"{len(failed)} of 300: {failed[0]!r}"


def test_half_leaves_prototypes_exact():
    space = hp.Space(3, hp.Classes(5))
    exact = space.prototypes.vectors.clone()
    assert torch.equal(space.half().prototypes.vectors, exact)


def test_threads_train_with_one_space(quick_switches):
    space, failed = hp.Space(2, hp.Classes(3)), []
    data = torch.randn(30, 4), torch.arange(30) % 3

    def train():
        try:
            hp.fit(torch.nn.Linear(4, 2), space, data, epochs=2)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
