"""What works on a machine where an image of a profile can be had nowhere."""

import pytest

from sandbox.profile.alternatives import nearest_working_profile, working_components
from sandbox.profile.images import Availability
from unit.profile.small_library import SMALL, plan

OFFLINE = Availability()
"""No registry: what can be built, and nothing else."""


def nearest(profile: str) -> str | None:
    """The nearest profile that works without a registry."""
    return nearest_working_profile(plan(profile, OFFLINE), SMALL, OFFLINE)


def test_components_whose_image_can_be_built_work() -> None:
    assert working_components(SMALL, OFFLINE) == ["cluster", "mysql", "replica"]


@pytest.mark.parametrize(
    ("profile", "works"),
    [
        ("mysql@8.4", "mysql"),
        ("mysql@8.4+replica2", "mysql+replica2"),
        ("mysql+balancer", "mysql"),
        ("cluster3+router", "cluster3"),
        ("cluster2@8.4+balancer+cloning+watcher", "cluster2+cloning"),
        ("mysql+balancer+fancy", "mysql"),
    ],
)
def test_a_term_is_replaced_by_its_like_or_left_out(profile: str, works: str) -> None:
    assert nearest(profile) == works
    assert not plan(works, OFFLINE).unavailable()


def test_a_local_image_is_no_worse_than_a_built_one() -> None:
    here = Availability(frozenset({"proxy:3.0.26"}))
    assert (
        nearest_working_profile(plan("mysql@8.4+balancer", here), SMALL, here) == "mysql+balancer"
    )
