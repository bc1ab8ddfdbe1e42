"""profiles: lists every term that a profile can contain."""

import json as json_text

from sandbox.commands.common.options import Json
from sandbox.library import load_library
from sandbox.report.plan_view import profile_data, profile_lines

HELP = ("before", 1)


def command(json: Json = False) -> None:
    """List every term with one line of help."""
    library = load_library()
    print(json_text.dumps(profile_data(library), indent=2) if json else "\n".join(profile_lines(library)))
