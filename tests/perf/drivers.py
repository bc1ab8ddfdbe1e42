"""perf: how long the image of the drivers takes to build, and what a driver adds to a trial."""

import json
import subprocess
import time
from typing import Any

from perf.timing import NAME, sandbox, tell, timed
from sandbox.core.paths import CHECKOUT

_SUITE = "sid"
_TAG = "sandbox/drivers:perf"
_PROFILE = "mariadb@11.8"
_DRIVERS = ("pymysql", "connector-j")


def driver_figures() -> dict[str, Any]:
    """Seconds of a build without a cache, on a base image that is here; and of a trial beside its
    prober's time, with a driver minus without one.
    """
    tell("the image of the drivers, from nothing")
    subprocess.run([CHECKOUT / "scripts" / "base-image", _SUITE], check=True, capture_output=True)
    figures: dict[str, Any] = {"drivers_image_s": round(timed(_build), 1)}
    subprocess.run(["docker", "rmi", _TAG], check=True, capture_output=True)
    tell(f"a trial on {_PROFILE} with a driver")
    sandbox("up", "--name", NAME, "--profile", _PROFILE)
    try:
        _overhead_s(_DRIVERS[0])  # the image may have to be built here, which is not counted
        alone_s = _overhead_s(None)
        for driver in _DRIVERS:
            word = driver.replace("-", "_")
            figures[f"driver_overhead_{word}_s"] = round(_overhead_s(driver) - alone_s, 2)
    finally:
        sandbox("down", "--name", NAME)
    return figures


def _build() -> None:
    command = ["docker", "build", "--no-cache", "--network", "host", "--tag", _TAG]
    command += ["--file", f"{CHECKOUT}/images/drivers/Dockerfile", "--build-arg", f"SUITE={_SUITE}"]
    subprocess.run([*command, f"{CHECKOUT}/images"], check=True, capture_output=True)


def _overhead_s(driver: str | None) -> float:
    """Seconds of a trial without those in which its prober ran."""
    words = ["--fault", "none", "--seconds", "5", *(["--driver", driver] if driver else [])]
    began = time.monotonic()
    shown = sandbox("trial", "--name", NAME, *words, "--json", accepted=(0, 1, 4))
    return time.monotonic() - began - float(json.loads(shown)["trial"]["end_ms"]) / 1000
