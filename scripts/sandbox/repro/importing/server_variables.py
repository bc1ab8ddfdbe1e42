"""PURE: what SHOW VARIABLES printed: as tab-separated text, as a table, or in \\G form."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from sandbox.profile.names import bare
from sandbox.repro.importing.common.draft import NotTaken, ReproDraft
from sandbox.repro.importing.common.options import Option, taken_over
from sandbox.repro.importing.common.seen import members_of
from sandbox.repro.importing.common.servers import SeenServer, term_with_version
from sandbox.repro.importing.common.setups import setup_draft
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader

_FORMS = (
    re.compile(r"^\|\s*(?P<name>[a-z]\w+)\s*\|(?P<value>.*)\|\s*$"),
    re.compile(r"^(?P<name>[a-z]\w+)\t(?P<value>.*)$"),
)
_NAME = re.compile(r"^\s*Variable_name:\s*(?P<name>\w+)")
_VALUE = re.compile(r"^\s*Value:\s?(?P<value>.*)$")
_FEW = 10
"""So many lines of the form are no accident."""
_NO_OPTIONS = re.compile(
    r"(?:version.*|have_.*|innodb_version|protocol_version|license|hostname|identity|timestamp"
    r"|insert_id|last_.*|error_count|warning_count|rand_seed\d|pseudo_.*|external_user|proxy_user"
    r"|large_page.*|lower_case_file_system|in_transaction|wsrep_patch_version|persisted_globals_load"
    r"|server_uid|statement_id|in_predicate.*|gtid_(?:next|owned|seq_no)|system_time_zone)$"
)
"""Names that SHOW VARIABLES has and that are no options."""
_UNSURE = re.compile(
    r"(?:skip_.*|time_zone|open_files_limit|thread_stack|flush|big_tables|tls_.*|ssl_.*|lc_.*)$"
)
"""Names that are left out where the defaults are not known: most often they follow from the
machine.
"""
_COMPUTED = re.compile(r"(?:back_log|thread_cache_size|host_cache_size|innodb_open_files)$")
"""Names that a server computes from others, where they are not given."""
_COMPUTES = "-1"
"""The default of others that it computes."""
_SAME = {"true": "on", "false": "off", "1": "on", "0": "off", "yes": "on", "no": "off"}


class ServerVariables(SourceReader):
    """Variables that differ from the defaults of that version become ``set``."""

    rank: ClassVar[int] = 30
    reads: ClassVar[str] = "output of SHOW VARIABLES (tab-separated, a table, or with \\G)"

    def recognises(self, source: ImportSource) -> bool:
        return source.text is not None and len(variables_in(source.text, source.name)) >= _FEW

    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        text = source.text or ""
        options = variables_in(text, source.name)
        values = {option.name: option.value or "" for option in options}
        server = seen_in_variables(values)
        count = members_of(server, options)
        place = next((o.place for o in options if o.name == "version"), source.name)
        term, left = term_with_version(server, known, place, count)
        defaults = known.defaults(term)
        settings, owned = changed_from_defaults(options, server.term, defaults)
        draft = setup_draft(f"The server of {source.name}", term, settings, [*left, *owned])
        if defaults is None:
            draft.remark(
                "set",
                "The image of this version is not here, so its defaults are not known:",
                "all that can be set is here. Leave out what does not matter (make shrink does).",
            )
        return draft


def variables_in(text: str, name: str) -> list[Option]:
    """The variables of an output, each with its line."""
    found = []
    named = None
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{name}:{number}"
        if match := next((m for form in _FORMS if (m := form.match(line))), None):
            found.append(Option(match["name"], match["value"].strip(), place))
        elif match := _NAME.match(line):
            named = match["name"]
        elif named and (match := _VALUE.match(line)):
            found.append(Option(named, match["value"].strip(), place))
            named = None
    return found


def seen_in_variables(values: Mapping[str, str]) -> SeenServer:
    """The server that has these variables."""
    words = f"{values.get('version_comment', '')} {values.get('version', '')}"
    provider = values.get("wsrep_provider", "none")
    galera = values.get("wsrep_on", "").upper() == "ON" and provider.lower() not in ("none", "")
    if galera and "mariadb" not in words.lower():
        words += " Percona XtraDB Cluster"
    group = bool(values.get("group_replication_group_name"))
    return SeenServer(values.get("version"), words, galera, group)


def changed_from_defaults(
    options: list[Option], term: str, defaults: Mapping[str, str | None] | None
) -> tuple[list[str], list[NotTaken]]:
    """The variables that have another value than by default; those of the machine or of a session
    are not named.
    """
    changed = []
    left = []
    for option in options:
        if bare(option.name) == "wsrep_provider_options":
            why = "it shows every key: add those that were set"
            left.append(NotTaken(option.place, option.name, why))
        elif option.value and _is_changed(option, defaults):
            changed.append(_difference(option, defaults))
    settings, owned = taken_over(changed, term, defaults)
    return settings, [*left, *owned]


def _is_changed(option: Option, defaults: Mapping[str, str | None] | None) -> bool:
    name = bare(option.name)
    if _NO_OPTIONS.match(name) or _COMPUTED.match(name):
        return False
    if defaults is None:
        return _UNSURE.match(name) is None
    default = defaults.get(name)
    if default is None or default == _COMPUTES:
        return False
    if _is_list(option.value or "") and _is_list(default):
        return bool(_other_pairs(option.value or "", default))
    return _plain(default) != _plain(option.value or "")


def _is_list(value: str) -> bool:
    """Whether a value is a list of key=value, as that of optimizer_switch."""
    return all("=" in each for each in value.split(","))


def _other_pairs(value: str, default: str) -> str:
    """The pairs whose keys have another value by default."""
    known = dict(each.split("=", 1) for each in default.split(","))
    pairs = [each.split("=", 1) for each in value.split(",")]
    return ",".join(f"{key}={own}" for key, own in pairs if known.get(key, own) != own)


def _difference(option: Option, defaults: Mapping[str, str | None] | None) -> Option:
    """The option; of a list of key=value only what is not by default."""
    default = (defaults or {}).get(bare(option.name))
    if default and _is_list(default) and _is_list(option.value or ""):
        return replace(option, value=_other_pairs(option.value or "", default))
    return option


def _plain(value: str) -> str:
    """One spelling of a value: ON and TRUE are the same, so are 1 and 1.000000."""
    text = value.strip().lower()
    if re.fullmatch(r"-?\d+\.\d+", text):
        text = text.rstrip("0").rstrip(".")
    return _SAME.get(text, text)
