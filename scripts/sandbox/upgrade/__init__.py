"""An upgrade check: a log's statements on two servers side by side, and what differs.

- pure: `sql_text`, `log_file` (what was given), `transactions`, `replay` (what
  pt-upgrade gets), `pt_upgrade` (what it says), `plans`, `refusals`, `defaults`, `option_file`,
  `sides` (FROM and TO)
- on a running stack: `run` (the steps), `servers` (questions to both), `toolkit`, `two_sessions`
- `runner`: the stack of a check, from its start to its removal
"""
