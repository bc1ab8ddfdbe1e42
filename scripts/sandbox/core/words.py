"""Words that plans, running stacks and records share."""

from typing import Literal

ImageOrigin = Literal["published", "built", "given"]
"""``given``: the user's own image, instead of the one that the catalog names."""
