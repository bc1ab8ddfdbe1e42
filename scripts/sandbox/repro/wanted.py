"""PURE: what a statement should come to, as a file says it, and where what came differs from it."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from sandbox.measure.trial.schedule import seconds
from sandbox.record.repro import Row, StepRecord

ANY = "any"
_SHOWN = 3
"""Rows of a result in a message; of more of them only the number."""


def cell_of(value: Any) -> str | None:
    """A cell of a file as a server sends it: ``true`` is 1, null is NULL."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def _row_of(value: Any) -> Row:
    """A row; a single value stands for a row of one."""
    return [cell_of(each) for each in (value if isinstance(value, list) else [value])]


def _rows_of(value: Any) -> Any:
    """A list of rows; one value that is no list is one row of one cell."""
    if value is None:
        return None
    return [_row_of(each) for each in (value if isinstance(value, list) else [value])]


def _codes_of(value: Any) -> Any:
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _seconds_of(value: Any) -> Any:
    return value if isinstance(value, int | float) else seconds(value)


Length = Annotated[float, BeforeValidator(_seconds_of)]
"""A length of time such as 500ms or 2s, in seconds."""
Codes = Annotated[list[int], BeforeValidator(_codes_of)]
Rows = Annotated[list[Row], BeforeValidator(_rows_of)]


class Wanted(BaseModel):
    """Keys that say what a statement should come to; none: that it ends without an error."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    error: Codes | str | None = None
    """Codes of which one comes; ``any``: whichever."""
    warning: Codes | None = None
    """Codes that come, each of them."""
    rows: Rows | None = None
    """The rows of the last result set."""
    unordered: bool = False
    """Whether rows may come in another order."""
    matches: str | None = None
    """A regular expression that some row has, its cells separated by tabs."""
    affected: int | None = Field(default=None, ge=0)

    @field_validator("error")
    @classmethod
    def _is_code(cls, error: list[int] | str | None) -> list[int] | str | None:
        if isinstance(error, str) and error != ANY:
            raise ValueError(f"error is a code, a list of codes, or {ANY}")
        return error

    @field_validator("matches")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                re.compile(pattern)
            except re.error as problem:
                raise ValueError(f"matches is no regular expression: {problem}") from problem
        return pattern

    @model_validator(mode="after")
    def _fits_together(self) -> "Wanted":
        if self.unordered and self.rows is None:
            raise ValueError("unordered says how rows are compared, and there are none")
        if self.error is not None and (self.rows is not None or self.affected is not None):
            raise ValueError("a statement ends with an error or has rows, not both")
        return self

    @property
    def says_nothing(self) -> bool:
        """Whether no key is there."""
        keys = (self.error, self.warning, self.rows, self.matches, self.affected)
        return all(each is None for each in keys)

    def problem(self, came: StepRecord) -> str | None:
        """How what came differs; None: it does not."""
        if self.error is not None:
            return self._other_error(came)
        if came.error is not None:
            return error_text(came)
        if self.affected is not None and came.affected != self.affected:
            return f"{came.affected} rows affected"
        missing = {*(self.warning or ())} - {each.code for each in came.warnings}
        if missing:
            return f"without warning {', '.join(str(code) for code in sorted(missing))}"
        return self._other_rows(came.rows[-1] if came.rows else [])

    def _other_error(self, came: StepRecord) -> str | None:
        if came.error is None:
            return "no error"
        if self.error == ANY or (isinstance(self.error, list) and came.error_code in self.error):
            return None
        return error_text(came)

    def _other_rows(self, rows: Sequence[Row]) -> str | None:
        if self.rows is not None and not _same(self.rows, rows, self.unordered):
            return rows_text(rows)
        pattern = self.matches
        if pattern is not None and not any(re.search(pattern, _line(row)) for row in rows):
            return rows_text(rows)
        return None


def _same(wanted: Sequence[Row], rows: Sequence[Row], unordered: bool) -> bool:
    if unordered:
        return sorted(map(_line, wanted)) == sorted(map(_line, rows))
    return [*wanted] == [*rows]


def _line(row: Row) -> str:
    return "\t".join("NULL" if cell is None else cell for cell in row)


def error_text(came: StepRecord) -> str:
    """``error 1020: Record has changed…``."""
    return f"error {came.error_code}: {came.error}" if came.error_code else f"error: {came.error}"


def rows_text(rows: Sequence[Row]) -> str:
    """``(1, 10), (2, NULL)``; of many rows the number, too."""
    if not rows:
        return "no row"
    shown = ", ".join(f"({', '.join('NULL' if c is None else c for c in row)})" for row in rows[:3])
    more = len(rows) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def came_text(came: StepRecord) -> str:
    """What came, in a few words."""
    if came.error is not None:
        return error_text(came)
    if came.rows:
        return rows_text(came.rows[-1])
    if came.affected is not None and came.affected >= 0:
        return f"ok, {came.affected} rows affected"
    return "ok"
