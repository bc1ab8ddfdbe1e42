"""The progress of a matrix on standard error."""

from sandbox.cli.console import LiveLine, ProgressDisplay, second_text
from sandbox.load.common.workload import Progress, Second
from sandbox.matrix.runner import Advance, MatrixEvent, MoreBlocks
from sandbox.report.text import duration

_SHOWN_STEPS = ("start", "host check", "repeat")
"""The steps of a matrix's runs that are shown; the others take a moment."""


class MatrixLine(LiveLine):
    """The events of a matrix.

    In a terminal runs and seconds move, elsewhere each run has its own line.
    """

    _head = ""

    def __call__(self, event: MatrixEvent) -> None:
        """Shows one event."""
        if isinstance(event, Advance):
            self._show_advance(event)
        elif isinstance(event, MoreBlocks):
            self._show_more_blocks(event)
        elif isinstance(event, Second) and self._terminal:
            self.move(f"{self._head}  {second_text(event).strip()}")
        elif isinstance(event, Progress) and event.step in _SHOWN_STEPS:
            self.line(f"{event.step}  {event.text}")

    def _show_advance(self, event: Advance) -> None:
        number = f"{event.done + 1}/{event.runs}"
        self._head = f"{number}  block {event.next.block}/{event.blocks}  {event.next.cell}"
        text = self._head
        if event.left_s is not None:
            text += f"  left about {duration(event.left_s)}"
        if self._terminal:
            self.move(text)
        else:
            self.line(text)

    def _show_more_blocks(self, event: MoreBlocks) -> None:
        self.line(
            f"inconclusive after {event.so_far} blocks: {event.more} more on the same stacks, "
            f"about {duration(event.seconds)}"
        )

    def progress(self) -> ProgressDisplay:
        """Shows a stack that starts, instead of the line that moves."""
        self.close()
        return ProgressDisplay(self._command, self._stream)
