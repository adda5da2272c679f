"""The command line: one line for every error, and the exit code that fits."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

import assay
from assay.cli.main import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        (["--backend", "sqlite:///w.db"], "--data-dir"),
        (["--backend"], "--data-dir"),
        (["--no-auth"], "leave it out"),
        (["--auth-api-key"], "leave it out"),
        (["--auth-issuer", "https://issuer.example.com"], "leave it out"),
        (["--auth-audience", "assay"], "leave it out"),
        (["--generate-api-key"], "leave it out"),
        (["--list-api-keys"], "leave it out"),
    ],
)
def test_an_option_that_is_gone_says_what_to_use_instead(
    option: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["serve", *option, "--port", "0"])

    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    assert told.err.startswith(f"assay: {option[0]} is gone: ")
    assert hint in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["serve", "--unknown"], ["serve", "--port", "many"], ["unknown"], ["--unknown"]]
)
def test_a_usage_error_is_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_the_extra_serve_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "assay_devserver.main", None)

    code = run(["serve", "--memory"])

    told = capsys.readouterr().err
    assert code == 1
    assert "pip install 'assay-serverless[serve]'" in told
    assert told.count("\n") == 1


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"assay {project['version']}\n"
    assert assay.__version__ == project["version"]


def test_help_names_the_options_and_not_those_that_are_gone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["serve", "--help"]) == 0

    told = capsys.readouterr().out
    for option in ("--host", "--port", "--data-dir", "--memory", "--dynamodb-endpoint"):
        assert option in told
    assert "--backend" not in told


def test_no_command_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "serve" in capsys.readouterr().err
