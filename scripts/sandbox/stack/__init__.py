"""The only code that talks to Docker.

What commands call, each with a `Docker` (engine.py) and an `OnEvent` (protocol.py; a
`console.ProgressDisplay` is one):

- `planning.planned(request) -> Plan`: of every command, with every check
- `up.up(plan, UpOptions(name, …), on_event, docker) -> Started`: images, start, readiness, INIT,
  PUBLISH
- `stack.find_stack(name or None, on_event, docker) -> Stack`, `stack.all_stacks(docker)`: found by
  label
- `lifecycle.down(name or None, on_event, docker)`, `.clean(projects, on_event, docker)`: what was
  `Removed`
- `lifecycle.restart(stack, node, on_event, timeout_s)`, `.stop(stack, on_event)`, `.start(stack,
  on_event, timeout_s)`
- `sql_client.sql(stack, via, on_event)`, `stack.open_shell(stack, node)`, `logs.logs(stack, node,
  follow)`: an exit code
- `publish.publish(stack, on_event) -> Stack`, `publish.addresses(stack)`: ports on 127.0.0.1
- `images.engine_availability(lock, docker)`: what the planner needs to know about this engine
- `supply.ensure_images(plan, on_event, docker)`, `.all_built(catalog, available)`,
  `images.lock_images(plan, docker)`
- `doctor.examine(docker) -> list[Check]`: every prerequisite

Each raises SandboxError: exit 2 for bad input, 4 for the environment, 130 for Ctrl-C.
"""
