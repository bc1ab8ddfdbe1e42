"""The only code that talks to Docker.

- engine: `engine` (the client as a subprocess), `engine_facts`, `images`, `supply`, `doctor`
- names and labels: `naming`, `inventory` (what is on the engine), `locks`, `journal` (faults)
- from plan to stack: `planning` (of every command), `secrets`, `create`, `disks`, `up`, `publish`
- a running stack: `stack` (found by label), `nodes`, `entry` (`VIA=`), `readiness`, `lifecycle`
- states of servers: `server_status`, `server_states`, `ask_states`
- inside its nodes: `sql_client`, `client_python`, `control` (break and mend), `upgrade`, `logs`
- `snapshots/`; `in_client/` and `in_helper/` are programs that run in containers
- for the layers above: `protocol`

Public functions take a `Docker` and an `OnEvent`. They raise SandboxError: exit 2 for bad input, 4
for the environment, 130 for Ctrl-C.
"""
