"""Many prototypes in bounded memory, measured in a process of their own."""

import json
import subprocess
import sys

SCRIPT = """
import json, resource, sys
import hyperproto as hp

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

hp.place(5, 3).save(sys.argv[1])
hp.Prototypes.load(sys.argv[1])
peaks = [peak()]
if sys.argv[2] == "save":
    placed = hp.place(200_000, 128, effort="fast")
    peaks.append(peak())
    placed.save(sys.argv[1] + ".large")
else:
    placed = hp.Prototypes.load(sys.argv[1] + ".large")
peaks.append(peak())
certificate = placed.certificate.to_dict()
print(json.dumps([peaks, placed.vectors.nbytes, certificate, str(placed.vectors.dtype), float(placed.vectors.sum())]))
"""


def run(path, what):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), what], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_two_hundred_thousand_prototypes_are_placed_saved_and_loaded_without_a_second_copy(
    tmp_path,
):
    (before, placed, saved), size, certificate, dtype, total = run(tmp_path / "p", "save")
    assert dtype == "torch.float32"
    assert certificate["max_cosine"] <= 0.25
    assert certificate["measured"].startswith("by theorem")
    assert placed - before < 2 * size
    assert saved - placed < 0.3 * size
    (before, loaded), _, again, _, same = run(tmp_path / "p", "load")
    assert loaded - before < 1.3 * size
    assert (again, same) == (certificate, total)
