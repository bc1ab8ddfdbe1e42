"""What differs between published images of one component: the server's user, the options that a
router knows.
"""

import pytest

from sandbox.profile.compose import compose_document
from sandbox.profile.images import Availability
from sandbox.profile.plan import PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER
from sandbox.stack.naming import identity

REGISTRY = Availability(registry=lambda: True)


@pytest.mark.parametrize(
    ("version", "image", "uid"),
    [
        ("8.0.32-1.2.11-server", "mysql/mysql-server:8.0.32-1.2.11-server", "27"),
        ("5.5.62-1.1.10", "mysql/mysql-server:5.5.62-1.1.10", "27"),
        ("8.0", "mysql:8.0.46", "999"),
    ],
)
def test_what_is_secret_belongs_to_the_user_of_the_image(
    version: str, image: str, uid: str
) -> None:
    plan = make_plan(PlanRequest(f"mysql@{version}+replica1"), load_library(), REGISTRY)
    services = compose_document(plan, PLACEHOLDER, identity("x"))["services"]
    for name in ("mysql1", "replica1"):
        owned = {
            str(mount["uid"])
            for mount in services[name]["configs"]
            if str(mount["mode"]) in ("0400", "256")
        }
        assert (services[name]["image"], owned) == (image, {uid})


@pytest.mark.parametrize(("version", "waits"), [("8.0", False), ("8.4", True), ("9.7", True)])
def test_a_router_is_given_only_options_that_it_knows(version: str, waits: bool) -> None:
    plan = make_plan(PlanRequest(f"gr3@{version}+router+many-clients"), load_library(), REGISTRY)
    configs = compose_document(plan, PLACEHOLDER, identity("x"))["configs"]
    options = next(
        each["content"] for name, each in configs.items() if name.endswith("router-options")
    )
    assert ("DEFAULT.connect_retry_timeout=120" in options) is waits
    assert "DEFAULT.max_idle_server_connections=12" in options
