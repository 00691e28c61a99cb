import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperproto._core.processes import run_tasks
from hyperproto.codes import search as search_module
from hyperproto.codes.certificate import cross_polytope, separation_bound
from hyperproto.codes.measure import max_cosine
from hyperproto.codes.search import Effort, optimize

SMALL = Effort(starts=12, finalists=1)

# Optimal codes, each with a proof: (K, D, maximum cosine).
PROVED = [
    (4, 3, -1 / 3),  # simplex
    (8, 4, 0.0),  # cross-polytope
    (7, 2, math.cos(2 * math.pi / 7)),  # polygon
    (8, 3, (2 * math.sqrt(2) - 1) / 7),  # square antiprism, Schütte and van der Waerden 1951
    (9, 3, 1 / 3),  # the same
    (12, 3, 1 / math.sqrt(5)),  # icosahedron
    (10, 4, 1 / 6),  # Petersen code, Bachoc and Vallentin 2009
    (16, 5, 1 / 5),  # Clebsch graph
    (27, 6, 1 / 4),  # Schläfli graph
    (56, 7, 1 / 3),  # 28 equiangular lines
]


@pytest.mark.parametrize(("num_points", "dim", "cosine"), PROVED)
def test_proved_optima_are_found_to_twelve_digits(num_points, dim, cosine):
    points, _ = optimize(num_points, dim, effort=SMALL, seed=0)
    assert max_cosine(points) == pytest.approx(cosine, abs=1e-12)


def test_the_24_cell_is_found():
    points, _ = optimize(24, 4, effort=SMALL, seed=0)
    assert max_cosine(points) == pytest.approx(0.5, abs=1e-12)


@given(st.integers(2, 30), st.integers(2, 12), st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_no_value_lies_below_the_bound(num_points, dim, seed):
    points, search = optimize(num_points, dim, effort=Effort(1, 1), seed=seed)
    assert points.shape == (num_points, dim)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-14)
    assert max_cosine(points) >= separation_bound(num_points, dim) - 1e-12
    assert search.bound == separation_bound(num_points, dim)


def test_one_and_two_workers_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(search_module, "POOL_WORK", 0.0)
    effort = Effort(starts=14, finalists=2)
    one, _ = optimize(17, 4, effort=effort, seed=3, workers=1)
    two, _ = optimize(17, 4, effort=effort, seed=3, workers=2)
    np.testing.assert_array_equal(one, two)
    other, _ = optimize(17, 4, effort=effort, seed=4, workers=1)
    assert not np.array_equal(one, other)


def test_a_given_code_is_used():
    best = cross_polytope(12, 6)
    points, search = optimize(11, 6, effort=Effort(0, 1), seed=0, bound=-1.0, initial_codes=[best])
    assert max_cosine(points) == pytest.approx(0, abs=1e-9)
    assert search.starts == 3


def test_search_stops_after_the_round_that_met_the_bound():
    _, search = optimize(16, 5, effort=Effort(100, 1), seed=0)
    assert search.starts == 12


def test_progress_counts_up_to_the_total(monkeypatch):
    calls = []
    monkeypatch.setattr(search_module, "report_progress", lambda *call: calls.append(call))
    optimize(13, 3, effort=Effort(5, 1), seed=0)
    assert [done for done, *_ in calls] == list(range(1, len(calls) + 1))
    assert calls[-1][0] <= calls[-1][1] == 5
    best = [float(note.removeprefix("maximum cosine ").partition(",")[0]) for *_, note in calls]
    assert best == sorted(best, reverse=True)


def test_errors_in_a_worker_reach_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(run_tasks([(divmod, (1, 0))], workers=2))


def test_results_come_in_the_order_of_the_tasks():
    assert list(run_tasks([(pow, (2, k)) for k in range(20)], workers=2)) == [
        2**k for k in range(20)
    ]


def test_workers_have_one_thread_for_linear_algebra():
    limits = "[p['num_threads'] for p in __import__('threadpoolctl').threadpool_info() if p['user_api'] == 'blas']"
    (found,) = run_tasks([(eval, (f"__import__('numpy') and {limits}",))], workers=2)
    assert set(found) == {1}


def test_workers_start_from_a_script_without_a_main_guard_and_without_torch(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from hyperproto._core.processes import run_tasks\n"
        "print(list(run_tasks([(eval, (\"__import__('sys').modules.get('torch') is None\",))], workers=2)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "[True]\n"


def test_ctrl_c_ends_the_search_and_its_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from hyperproto.codes import search\n"
        "search.report_progress = lambda *call: print(call[0], flush=True)\n"
        "try:\n"
        "    search.optimize(40, 6, effort=search.Effort(9_999, 1), seed=0, workers=2)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    running = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, which gets the signal as from a terminal
    )
    assert running.stdout.readline() == "1\n"
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert out.endswith("interrupted\n")
    assert "Traceback" not in err
    for _ in range(100):  # nobody of the group is left, after a moment to end
        try:
            os.killpg(running.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.3)
    pytest.fail("a process of the group is still there")


def test_efforts_grow_with_their_names_and_shrink_with_size():
    fast, balanced, thorough = (
        Effort.named(name, 100, 10) for name in ("fast", "balanced", "thorough")
    )
    assert fast.starts < balanced.starts < thorough.starts
    assert Effort.named("thorough", 2000, 128).starts < thorough.starts
    with pytest.raises(ValueError, match=r'Unknown effort "thoruogh".*Did you mean "thorough"'):
        Effort.named("thoruogh", 10, 3)
