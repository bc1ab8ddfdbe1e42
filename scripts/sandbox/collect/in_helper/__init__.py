"""What runs in a container beside a node, shipped as text, so it imports nothing of ours."""
