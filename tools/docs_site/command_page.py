"""The reference of the command line, made of the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from markdown_parts import table

from sfa.cli.app import app


def command_page() -> str:
    """The Markdown of the page: every command with its help, examples, arguments and options."""
    root: Any = typer.main.get_command(app)
    parts = ["# Commands", f"{root.help} `sfa COMMAND --help` shows the same on a terminal."]
    parts.append("`--debug`, anywhere on the line, shows the traceback of an error; `--version` prints the version.")
    parts += [part for name, command in root.commands.items() for part in _command(name, command)]
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join(one.metavar or one.name if one.required else f"[{one.metavar or one.name}]" for one in arguments)
    yield f"## sfa {name}"
    yield f"```text\n{f'sfa {name} {usage}'.rstrip()} [OPTIONS]\n```"
    yield inspect.cleandoc(command.help)
    options = [one for one in command.params if one.param_type_name == "option"]
    rows = [[f"`{one.metavar or one.name}`", _meaning(one)] for one in arguments]
    if rows:
        yield table(["argument", "meaning"], rows)
    for panel in dict.fromkeys(map(_panel, options)):
        those = [_option(one) for one in options if _panel(one) == panel]
        yield table([f"{panel.lower()} option", "value", "meaning"], those)


def _panel(option: Any) -> str:
    return str(option.rich_help_panel)


def _option(option: Any) -> list[str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f"`{option.metavar or option.type.name.upper()}`"
    return [names, value, _meaning(option)]


def _meaning(parameter: Any) -> str:
    text = parameter.help or ""
    default = parameter.default
    if isinstance(default, str | int | float) and not isinstance(default, bool) and "Default" not in text:
        text += f" Default: `{getattr(default, 'value', default)}`."
    return text + (f" Environment: `{parameter.envvar}`." if getattr(parameter, "envvar", None) else "")
