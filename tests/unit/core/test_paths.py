"""Where the tool looks: its own files and the user's, results of the checkout or of the current
folder.
"""

from pathlib import Path

import pytest

from sandbox.core import paths
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import CHECKOUT, profile_folders, results_folder, yaml_files
from sandbox.profile.reader import load_library


def test_a_checkout_keeps_its_results_wherever_one_is(tmp_path: Path) -> None:
    assert results_folder(tmp_path) == CHECKOUT / "results"


def test_an_installed_tool_leaves_results_in_the_current_folder_or_the_checkout_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "IN_CHECKOUT", False)
    assert results_folder(tmp_path) == tmp_path / "results"
    assert results_folder(CHECKOUT / "tests" / "unit") == CHECKOUT / "results"


def test_the_users_own_profiles_are_found_after_those_of_the_tool(tmp_path: Path) -> None:
    own = tmp_path / "profiles" / "settings"
    own.mkdir(parents=True)
    (own / "nine.yaml").touch()
    folders = profile_folders("settings", tmp_path)
    assert folders == [CHECKOUT / "profiles" / "settings", own]
    assert yaml_files(folders)["nine"] == own / "nine.yaml"
    assert profile_folders("settings", CHECKOUT) == [CHECKOUT / "profiles" / "settings"]
    assert profile_folders("settings", CHECKOUT / "docs") == [CHECKOUT / "profiles" / "settings"]


def test_one_name_for_two_files_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "profiles" / "settings"
    own.mkdir(parents=True)
    (own / "durable.yaml").touch()
    with pytest.raises(SandboxError, match="has the name of") as refused:
        yaml_files(profile_folders("settings", tmp_path))
    assert refused.value.next_step.endswith("my-durable.yaml")


def test_a_broken_file_of_the_users_own_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "profiles" / "settings"
    settings.mkdir(parents=True)
    (settings / "mine.yaml").write_text("[")
    monkeypatch.setattr(
        "sandbox.profile.reader.profile_folders", lambda kind: profile_folders(kind, tmp_path)
    )
    with pytest.raises(SandboxError, match=r"mine\.yaml cannot be read") as refused:
        load_library().settings["mine"]
    assert refused.value.exit_code is ExitCode.BAD_INPUT


def test_a_broken_file_that_ships_is_a_bug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    assert (
        paths.broken_file(tmp_path / "a.yaml", "a.yaml is not valid", "").exit_code
        is ExitCode.INTERNAL
    )
