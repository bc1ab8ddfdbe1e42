"""profiles: lists every term that a profile can contain."""

from sandbox.cli.common.options import Json
from sandbox.cli.common.showing import show_document
from sandbox.cli.registry import About
from sandbox.profile.reader import load_library
from sandbox.report.terms import terms_data, terms_document

ABOUT = About(group="look first", needs_engine=False)


def command(json: Json = False) -> None:
    """List every term with one line of help."""
    library = load_library()
    show_document(json, terms_data(library), terms_document(library))
