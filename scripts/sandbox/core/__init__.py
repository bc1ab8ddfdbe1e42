"""What every part uses: errors, paths, plug-ins, files; nothing here knows of stacks or results."""
