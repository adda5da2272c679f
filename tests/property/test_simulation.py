"""The whole engine under faults, by seed. A failure prints the seed and everything that led to it.

`ASSAY_SIM_SEEDS=2000` runs more histories, `ASSAY_SIM_SEEDS=5000-7000` those between; one of
them is shown step by step by `python -m tests.property.simulation SEED`.
"""

import os

import pytest

from tests.property.simulation import Simulation, Trouble, troubles

_BATCH = 10


def _seeds() -> range:
    first, _, end = os.environ.get("ASSAY_SIM_SEEDS", "300").rpartition("-")
    return range(int(first or 0), int(end))


@pytest.mark.parametrize("first", _seeds()[::_BATCH])
def test_every_run_ends_as_its_program_does_whatever_goes_wrong(first: int) -> None:
    for seed in range(first, min(first + _BATCH, _seeds().stop)):
        Simulation(seed, troubles(seed)).run()


def test_without_trouble_nothing_is_repeated() -> None:
    simulation = Simulation(9, Trouble())
    simulation.run()
    lost = [line for line in simulation.director.trace if "stale" in line or "Error" in line]
    assert lost == []


def test_the_same_seed_makes_the_same_history() -> None:
    one, other = (Simulation(23, troubles(23)) for _ in range(2))
    one.run()
    other.run()
    assert one.director.trace == other.director.trace
