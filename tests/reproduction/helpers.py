"""Every experiment by name; running all cells of one, and comparing records."""

from pathlib import Path

from hyperproto.reproduction.experiment import experiment_names, find_experiment
from hyperproto.reproduction.runner import make_plan, run_plan

FURTHER = Path(__file__).parents[2] / "experiments"
NAMES = sorted(
    [*experiment_names(), *(path.stem.replace("_", "-") for path in FURTHER.glob("*.py"))]
)


def find(name):
    """Return a table or figure of the paper, or what goes beyond it: "past-..."."""
    return find_experiment(
        str(FURTHER / f"{name.replace('-', '_')}.py") if name.startswith("past-") else name
    )


def run_experiment(experiment, scale, places, **options):
    """Run what is not done."""
    return list(run_plan(make_plan(experiment, scale, places), places, **options))


def comparable(record):
    """Return a record without its times: what the same cell gives again, bit for bit, on the same
    machine.
    """
    return {key: value for key, value in record.items() if key != "times"}
