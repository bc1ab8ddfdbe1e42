"""The only code that talks to Docker.

What commands call, each with a `Docker` (engine.py) and an `OnEvent` (events.py; a `console.Progress` is one):

- `up.up(plan, UpOptions(name, timeout_s, publish), on_event, docker) -> Stack`: images, start, readiness, INIT, PUBLISH
- `find.find_stack(name or None, on_event, docker) -> Stack`, `find.all_stacks(docker)`: found by label
- `remove.down(name or None, on_event, docker)`, `remove.clean(projects, on_event, docker)`: what was `Removed`
- `lifecycle.restart(stack, node, on_event, timeout_s)`, `.stop(stack, on_event)`, `.start(stack, on_event, timeout_s)`
- `access.sql(stack, via, on_event)`, `access.shell(stack, node)`, `logs.logs(stack, node, follow)`: an exit code
- `publish.publish(stack, on_event) -> Stack`, `publish.addresses(stack)`: ports on 127.0.0.1
- `images.engine_availability(lock, docker)`: what the planner needs to know about this engine
- `supply.ensure_images(plan, on_event, docker)`
- `supply.all_built(catalog, available)`, `pins.lock_images(plan, docker)`
- `doctor.examine(docker) -> list[Check]`: every prerequisite

Each raises SandboxError: exit 2 for bad input, 4 for the environment, 130 for Ctrl-C.
"""
