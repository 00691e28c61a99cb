"""Running all cells of an experiment, and comparing records."""

from hyperproto.reproduction.runner import make_plan, run_plan


def run_experiment(experiment, scale, places, **options):
    """Run what is not done."""
    return list(run_plan(make_plan(experiment, scale, places), places, **options))


def comparable(record):
    """Return a record without its times: what the same cell gives again, bit for bit, on the same machine."""
    return {key: value for key, value in record.items() if key != "times"}
