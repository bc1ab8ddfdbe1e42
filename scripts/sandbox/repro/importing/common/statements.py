"""PURE: SQL in the text of a report: which lines are SQL, of which session, and what was seen."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

VERBS = (
    "select|insert|update|delete|replace|create|alter|drop|truncate|rename|begin|start|commit"
    "|rollback|savepoint|release|set|show|explain|describe|desc|analyze|optimize|check|checksum"
    "|repair|lock|unlock|flush|reset|grant|revoke|call|do|handler|load|prepare|execute|deallocate"
    "|use|with|kill|install|uninstall|change|stop|xa|values|table|signal|delimiter|purge|binlog"
)
_VERB = re.compile(rf"\s*\(?\s*(?:{VERBS})\b", re.IGNORECASE)
_WHO = r"session|sess|connection|conn|con|client|terminal|thread|transaction|trx|tx|window|shell"
_MARK = re.compile(
    rf"^\W*(?:(?:in|on|from)\s+)?(?:the\s+)?"
    rf"(?:(?:{_WHO})\s*[#_-]?\s*(?P<number>[1-9]|[a-d]\b)|[tsc](?P<short>[1-9]))"
    r"(?!\w|\.\d)(?P<rest>.*)$",
    re.IGNORECASE,
)
"""``session 1``, ``-- Connection A``, ``T2:``."""
_INLINE = re.compile(rf"{_MARK.pattern.removesuffix('(?P<rest>.*)$')}\s*[:>]", re.IGNORECASE)
_NODE = re.compile(
    r"^\W*(?:(?:in|on)\s+)?(?:the\s+)?(?P<word>node|server|member|master|source|primary|writer"
    r"|slave|replica|secondary)\s*[#_-]?\s*(?P<number>[1-9])?(?!\w)(?P<rest>.*)$",
    re.IGNORECASE,
)
_PROMPT = re.compile(
    r"^\s*(?P<who>[A-Za-z][\w@.-]*(?: (?:\d+|[A-Da-d]))?)?\s*"
    r"(?P<shown>(?:\[[^\]]*\]|\{[^}]*\}|\(\(?[^)]*\)?\))?(?:\s*(?:\{[^}]*\}|\([^)]*\)+))*)\s*>"
    r"(?P<sql>\s.*|)$"
)
_CLIENTS = re.compile(r"(?:mysql|mariadb|root|msandbox|percona)", re.IGNORECASE)
_MORE = re.compile(r"^\s*(?:->|'>|\">|`>)(?P<sql>\s.*|)$")
_ERROR = re.compile(r"^\s*(?:--|#|/\*)?\s*ERROR\s+(?P<code>\d{4,5})\s*(?:\(\w+\))?", re.IGNORECASE)
_WAITS = re.compile(
    r"(?:--|#|/\*|<|\().*\b(?:hangs?|waits?|waiting|blocks|blocked|blocking)\b", re.IGNORECASE
)
_DELIMITER = re.compile(r"^\s*delimiter\s+(\S+)\s*$", re.IGNORECASE)
_QUOTED = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`|/\*.*?\*/|(?:--\s|--$|#)[^\n]*",
    re.DOTALL,
)
"""Texts in which no delimiter ends a statement."""
_FENCE = re.compile(r"^\s*(?:```+|~~~+|\{(?:code|noformat)[^}]*\}|<(?:/?)pre>)\s*(?P<kind>\w*)")
_OF_OPTIONS = re.compile(r"^\s*\[(?:mysqld|mariadbd?|server)[^\]]*\]", re.MULTILINE)
_OPTION_LINE = re.compile(r"\s*[a-z][\w-]*\s*(?:=.*)?$", re.IGNORECASE)
MAIN = "s1"
_FEW = 4
"""Words beside a mark."""


@dataclass(slots=True)
class Block:
    """Lines of code of a report. ``first``: the number of its first line; ``marks``: the lines of
    text right before it.
    """

    first: int
    lines: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its lines."""
        return "\n".join(self.lines)


@dataclass(slots=True)
class ReportedStatement:
    """A statement of a report, and what it shows of its outcome."""

    session: str
    place: str | None
    """A word for a node: ``node 2``, ``replica``; None: nothing is said."""
    sql: str
    line: int
    error: int | None = None
    waits: bool = False


def blocks_of(text: str) -> list[Block]:
    """The blocks of code: fenced, indented, or lines that a client's prompt begins."""
    blocks: list[Block] = []
    open_block: Block | None = None
    is_fenced = False
    before: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            is_fenced = not is_fenced
            open_block = None
            if is_fenced:
                open_block = Block(number + 1, marks=before)
                blocks.append(open_block)
                before = []
        elif is_fenced and open_block is not None:
            open_block.lines.append(line)
        elif _is_code(line, open_block):
            if open_block is None:
                open_block = Block(number, marks=before)
                blocks.append(open_block)
                before = []
            open_block.lines.append(line)
        elif line.strip():
            open_block = None
            before = [*before, line][-3:]
        elif open_block is not None:
            open_block.lines.append(line)
    return blocks


def _is_code(line: str, within: Block | None) -> bool:
    """Whether a line outside of fences is code, given the block that it may go on."""
    if prompt_of(line) is not None or _ERROR.match(line) or _is_marked(line):
        return True
    if within is not None and (line[:1] in ("+", "|") or _MORE.match(line)):
        return True
    if _OF_OPTIONS.match(line):
        return True
    if within is not None and is_of_options(within) and _OPTION_LINE.match(line):
        return True
    if line.startswith(("    ", "\t")) and line.strip():
        return within is not None or _VERB.match(line) is not None
    is_statement = _VERB.match(line) is not None and line.rstrip().endswith(";")
    return is_statement or (within is not None and line.rstrip().endswith(";"))


def _is_marked(line: str) -> bool:
    """Whether a line is a statement behind the name of its session: ``con1: begin;``."""
    found = _INLINE.match(line)
    return found is not None and _VERB.match(line[found.end() :]) is not None


def prompt_of(line: str) -> tuple[str, str] | None:
    """Who a client's prompt names, and what stands behind it; None: the line has no prompt."""
    found = _PROMPT.match(line)
    if found is None or not found["who"]:
        return None
    who = found["who"]
    sql = found["sql"].strip()
    if _CLIENTS.match(who):
        return who, sql
    # Else a comparison in a statement would be one: c1 > 5.
    is_told = not sql or _VERB.match(sql) or _ERROR.match(sql)
    if is_told and (_MARK.match(who) or _NODE.match(who)):
        return who, sql
    return None


def is_of_options(block: Block) -> bool:
    """Whether a block is an option file."""
    return _OF_OPTIONS.search(block.text) is not None


def said_in(blocks: Sequence[Block]) -> list[ReportedStatement]:
    """The statements of some blocks in order, each with its session and what was seen of it."""
    reading = _ReportReading()
    for block in blocks:
        reading.read(block)
    return reading.said


class _At:
    """The session and the node that the lines are of, as marks say it."""

    def __init__(self) -> None:
        self.session = MAIN
        self.place: str | None = None
        self._places: dict[str, str | None] = {}

    def mark(self, line: str, alone: bool = False) -> str | None:
        """Takes a mark of a session or a node; the SQL that stands behind it. None: no mark.

        ``alone``: the line is text, in which a mark has few other words.
        """
        session = _MARK.match(line)
        match = session or _NODE.match(line)
        if match is None:
            return None
        rest = match["rest"].lstrip(" :>.-*/#\t`)(").rstrip()
        is_told = _VERB.match(rest) is not None or _ERROR.match(rest) is not None
        if not is_told and len(rest.split()) > _FEW:
            return None
        if alone and is_told and not match["rest"].lstrip().startswith((":", ">", "-")):
            return None
        if session:
            self._turn_to(f"s{_number(match['number'] or match['short'])}")
            if beside := _NODE.search(rest):
                self._put(f"{beside['word']} {beside['number'] or ''}")
        else:
            number = match["number"] or ""
            word = match["word"].lower()
            self._turn_to(f"s{number}" if number else f"s_{word}")
            self._put(f"{word} {number}")
        return rest if is_told else ""

    def _turn_to(self, session: str) -> None:
        self.session = session
        self.place = self._places.get(session)

    def _put(self, place: str) -> None:
        self.place = place.lower().strip()
        self._places[self.session] = self.place


def _number(text: str) -> int:
    return int(text) if text.isdigit() else "abcd".index(text.lower()) + 1


class _ReportReading:
    """The statements so far, and the one whose lines are gathered."""

    def __init__(self) -> None:
        self.said: list[ReportedStatement] = []
        self._at = _At()
        self._lines: list[str] = []
        self._first = 0
        self._delimiter = ";"
        self._is_typed = False
        """Whether the lines that follow a prompt still belong to its statement."""

    def read(self, block: Block) -> None:
        """Reads the lines of a block, after the text before it."""
        for line in block.marks:
            if len(line.split()) <= _FEW:
                self._shown(f"# {line}")
            self._at.mark(line, alone=True)
        has_prompts = any(prompt_of(line) is not None for line in block.lines)
        for number, line in enumerate(block.lines, block.first):
            self._line(line, number, has_prompts)
        self._end()

    def _end(self) -> None:
        """Ends a statement that no delimiter ends."""
        rest = without_remarks("\n".join(self._lines)).strip()
        if rest and _VERB.match(rest):
            self._say(rest)
        self._lines = []

    def _line(self, line: str, number: int, has_prompts: bool) -> None:
        prompt = prompt_of(line)
        if prompt is not None or _INLINE.match(line):
            self._end()
        if prompt is not None:
            who, line = prompt
            self._at.mark(who)
            self._is_typed = True
        elif self._lines and (more := _MORE.match(line)):
            line = more["sql"].removeprefix(" ")
        elif not self._lines:
            behind = self._at.mark(line)
            line = line if behind is None else behind
        if error := _ERROR.match(line):
            self._failed(int(error["code"]))
        elif has_prompts and not self._is_typed:
            self._shown(line)
        else:
            self._gather(line, number)

    def _failed(self, code: int) -> None:
        """An error is of the last statement of its session."""
        own = [each for each in self.said if each.session == self._at.session]
        for each in (own or self.said)[-1:]:
            each.error = code

    def _shown(self, line: str) -> None:
        """A line that is no SQL; it may say that the last statement waits."""
        if self.said and _WAITS.search(line):
            self.said[-1].waits = True

    def _gather(self, line: str, number: int) -> None:
        if found := _DELIMITER.match(line):
            self._delimiter = found[1]
            self._is_typed = False
            return
        if not self._lines and not _begins(line):
            self._shown(line)
            self._is_typed = self._is_typed and bool(line.strip())
            return
        if not self._lines:
            self._first = number
        self._lines.append(line)
        self._complete()

    def _complete(self) -> None:
        """Takes the statements that are complete now; what follows the last stays gathered."""
        text = "\n".join(self._lines)
        while (cut := _end_of(text, self._delimiter)) is not None:
            end, next_one = cut
            sql = text[:end]
            text = text[next_one:]
            remark = text.partition("\n")[0]
            if plain := without_remarks(sql).strip():
                self._say(plain, bool(_WAITS.search(remark)))
        has_rest = bool(without_remarks(text).strip())
        self._lines = [text.strip("\n")] if has_rest else []
        self._is_typed = has_rest

    def _say(self, sql: str, waits: bool = False) -> None:
        at = self._at
        self.said.append(ReportedStatement(at.session, at.place, sql, self._first, waits=waits))


def _begins(line: str) -> bool:
    """Whether a line begins a statement, maybe behind a comment."""
    return _VERB.match(without_remarks(line)) is not None


def _end_of(text: str, delimiter: str) -> tuple[int, int] | None:
    """Where the first statement ends, and where the next one may begin; None: it does not end."""
    masked = _QUOTED.sub(lambda found: " " * len(found[0]), text)
    ends = {delimiter} if delimiter != ";" else {";", "\\G", "\\g"}
    found = [(masked.index(end), end) for end in ends if end in masked]
    if not found:
        return None
    at, end = min(found)
    after = at + len(end)
    return at, after + (text[after : after + 1] == ";")


def without_remarks(sql: str) -> str:
    """SQL without its comments; those that servers read (/*! … */) stay."""

    def kept(found: "re.Match[str]") -> str:
        text = found[0]
        is_remark = text[:1] in ("#", "-") or (
            text[:2] == "/*" and text[2:3] not in ("!", "+", "M")
        )
        return "" if is_remark else text

    return _QUOTED.sub(kept, sql)
