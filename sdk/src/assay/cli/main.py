"""The command `assay`: its group, and how every error becomes one line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from assay import __version__
from assay.cli.commands.serve import serve

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="assay", message="%(prog)s %(version)s")
def cli() -> None:
    """Durable workflows: run the local engine, and talk to one."""


cli.add_command(serve)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and end the process; nobody ever sees a stack trace."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        result = cli.main(args=arguments, prog_name="assay", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _tell(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _tell("interrupted", INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the last line of defence of a program for people
        return _tell(f"{type(error).__name__}: {error}", 1)
    return result if isinstance(result, int) else 0


def _tell(message: str, code: int) -> int:
    line = " ".join(message.split())
    if line:
        click.echo(f"assay: {line}", err=True)
    return code


if __name__ == "__main__":
    main()
