"""`assay serve`: the local engine. It is an extra, and imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

INSTALL = (
    "assay serve needs the local engine: pip install 'assay-serverless[serve]', "
    "or '.[serve]' in a checkout"
)

_USE_STORE = (
    "the store is chosen by --data-dir DIR (durable, the default), --memory or "
    "--dynamodb-endpoint URL"
)
_USE_OPEN = "the local engine listens on this machine only and asks for no key: leave it out"
_USE_DEPLOYED = "keys and tokens are checked by the deployed engine only: leave it out"

# Options of the original that are gone: whether each took a value, and what to use instead.
_GONE = {
    "--backend": (True, _USE_STORE),
    "--no-auth": (False, _USE_OPEN),
    "--auth-api-key": (False, _USE_DEPLOYED),
    "--auth-issuer": (True, _USE_DEPLOYED),
    "--auth-audience": (True, _USE_DEPLOYED),
    "--generate-api-key": (False, _USE_DEPLOYED),
    "--list-api-keys": (False, _USE_DEPLOYED),
}


def _refuse_gone(_context: click.Context, option: click.Parameter, value: object) -> None:
    if value is None or value is False:
        return
    name = option.opts[0]
    raise click.ClickException(f"{name} is gone: {_GONE[name][1]}")


def _gone_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, (takes_value, _) in _GONE.items():
        option = click.option(
            name,
            is_flag=not takes_value,
            flag_value="" if takes_value else True,  # so that a forgotten value is no other error
            default=None,
            hidden=True,
            is_eager=True,
            expose_value=False,
            callback=_refuse_gone,
        )
        command = option(command)
    return command


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Where runs are kept."
)
@click.option("--memory", is_flag=True, help="Keep everything in memory; it is gone on exit.")
@click.option("--dynamodb-endpoint", metavar="URL", help="Use this DynamoDB instead of an own one.")
@_gone_options
def serve(**options: Any) -> int:
    """Run the engine on this machine until Ctrl-C."""
    try:
        # Imported here because it is an extra: the SDK alone does not bring it.
        from assay_devserver.main import serve as serve_engine  # noqa: PLC0415
        from assay_devserver.options import ServeOptions  # noqa: PLC0415
    except ImportError as error:
        raise click.ClickException(f"{INSTALL} (missing: {error.name or error})") from error
    given = {name: value for name, value in options.items() if value is not None}
    return serve_engine(ServeOptions(**given))
