"""Templates of a fragment: rendered through and through, and nothing undefined let by."""

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.templates import PLACEHOLDER, node_context, render, render_text
from unit.profile.small_library import plan


def test_every_string_is_rendered_wherever_it_stands() -> None:
    value = {"{{ a }}": ["{{ a }}", 1, None, {"x": "{% if a %}yes{% endif %}"}], "plain": "$HOME"}
    assert render(value, {"a": "1"}, "here") == {
        "1": ["1", 1, None, {"x": "yes"}],
        "plain": "$HOME",
    }


@pytest.mark.parametrize(
    ("profile", "user"), [("mysql", "sbtest"), ("external", "owner"), ("external+mysql", "sbtest")]
)
def test_the_application_is_the_user_of_an_external_address(profile: str, user: str) -> None:
    made = plan(profile, external="mysql://owner@db:3306/shop" if "external" in profile else None)
    assert node_context(made, made.client, PLACEHOLDER)["stack"]["user"] == user


def test_a_line_that_holds_a_block_alone_leaves_no_line() -> None:
    assert render_text("a\n  {% if true %}\nb\n  {% endif %}\nc\n", {}, "here") == "a\nb\nc\n"


@pytest.mark.parametrize(
    "text", ["{{ missing }}", "{{ a.missing }}", "{% if %}", "{{ a", "{{ a | no_filter }}"]
)
def test_a_template_that_does_not_render_is_the_repositorys_fault(text: str) -> None:
    with pytest.raises(SandboxError) as refused:
        render_text(text, {"a": "1"}, "compose/x")
    assert refused.value.exit_code is ExitCode.INTERNAL
    assert "compose/x" in refused.value.what
