"""Every experiment by name; running all cells of one, and comparing records."""

from reproduction.experiment import experiment_names, find_experiment
from reproduction.runner import make_plan, run_plan

NAMES = experiment_names()
find = find_experiment


def run_experiment(experiment, scale, places, **options):
    """Run what is not done."""
    return list(run_plan(make_plan(experiment, scale, places), places, **options))


def comparable(record):
    """Return a record without its times: what the same cell gives again, bit for bit, on the same
    machine.
    """
    return {key: value for key, value in record.items() if key != "times"}
