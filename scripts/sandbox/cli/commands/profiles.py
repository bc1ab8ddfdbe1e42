"""profiles: lists every term that a profile can contain."""

from sandbox.cli.common.options import Json, show
from sandbox.cli.registry import About
from sandbox.profile.reader import load_library
from sandbox.report.plan import profile_data, profile_lines

ABOUT = About(group="look first", needs_engine=False)


def command(json: Json = False) -> None:
    """List every term with one line of help."""
    library = load_library()
    show(json, profile_data(library), profile_lines(library))
