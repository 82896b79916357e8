"""The table of commands. A command's module is imported only when it is run, so that ``--help`` and ``check`` stay quick."""

from __future__ import annotations

from importlib import import_module

import click

import scansion

__all__ = ["app"]

_COMMANDS = {
    "generate": "Let a model write an answer that keeps to a grammar.",
    "check": "Say whether texts keep to a grammar, and where not.",
    "mask": "Show which tokens a grammar allows after a text.",
    "convert": "Write a schema or grammar as GBNF or Lark.",
    "doctor": "Report versions, kernel, models, and a one-second self-test.",
    "serve": "Serve OpenAI's and Ollama's HTTP APIs.",
    "validate-server": "Try 30 structured requests on any OpenAI-compatible server.",
    "demo": "Watch the embedded model fill in a schema, and check what it wrote.",
}


class _Commands(click.Group):
    """A group that knows its commands by name and imports them on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        command = import_module(f"scansion.cli.{cmd_name.replace('-', '_')}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"scansion.cli.{cmd_name}.command is not a command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(scansion.__version__, prog_name="scansion")
@click.pass_context
def app(context: click.Context) -> None:
    """Constrained decoding: what a language model writes keeps to a JSON Schema, a grammar or a regex."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
