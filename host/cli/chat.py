"""`branchpoint chat`: a conversation in the terminal, with tasks beside it that can be steered."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import click
import trio

from host.cli.chatting.orders import Orders
from host.cli.chatting.piped import Piped
from host.cli.chatting.setting import Setting
from host.cli.chatting.talking import Front, Talk
from host.cli.chatting.telling import Teller
from host.cli.inputs import BadInput, Places, capability_options, clear_errors, find_image
from host.cli.recordings import Kept, record_options, recording
from host.cli.report import FAILED, OK
from host.cli.running import run_to_end
from host.conversation import Conversation
from host.events import Event
from host.loop import open_dialogue
from host.models.port import Model
from host.samples import SAMPLES
from sandbox.image import DEFAULT

__all__ = ["chat"]

_PATIENCE: Final = 5  # seconds to reach a server


@click.command(
    short_help="Talk, with tasks beside the conversation.",
    epilog="Exit codes of a piped conversation: 0 all well, 1 a turn failed, 2 bad usage or input (130 after ctrl-C).",
)
@click.option(
    "--model",
    "spec",
    metavar="MODEL",
    default="lexical",
    show_default=True,
    help="lexical (small, no key), openai:NAME, openai-responses:NAME or anthropic:NAME.",
)
@click.option("--base-url", metavar="URL", help="The server of an openai: model, such as http://localhost:8080/v1.")
@capability_options
@click.option(
    "--thread", metavar="FILE", type=click.Path(path_type=Path), help="An earlier conversation to go on with."
)
@click.option(
    "--agents",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Agents with their models, capabilities, hand-offs and forks, as YAML (`branchpoint check` reads it).",
)
@click.option("--image", "image_name", metavar="NAME", default=DEFAULT, show_default=True, help="What code runs on.")
@click.option(
    "--sample", type=click.Choice(list(SAMPLES)), help="Contacts, files and conversation of a sample (see `demo`)."
)
@click.option(
    "--policy",
    type=click.Choice(["model", "always", "never"]),
    default="model",
    show_default=True,
    help="Who decides whether delegated work is forked: the model, or always, or never.",
)
@click.option("--show-context", is_flag=True, help="Show what each child is sent, when it is sent.")
@record_options
def chat(
    spec: str,
    base_url: str | None,
    contacts: Path | None,
    files: Path | None,
    outbox: Path | None,
    thread: Path | None,
    agents: Path | None,
    image_name: str,
    sample: str | None,
    policy: Literal["model", "always", "never"],
    show_context: bool,
    record: Path | None,
    no_record: bool,
) -> None:
    """Talk with an agent that has your contacts, files and outbox, writes code, and starts tasks.

    \b
    Try first, without a key:
      branchpoint chat --sample board
      > Send the report to Sarah
      > In the background, send the report to Sarah
      > /context
    then:
      branchpoint chat --model openai:gpt-5 --contacts people.vcf --files papers/ --outbox out/
      branchpoint chat --model openai:local --base-url http://localhost:8080/v1 --thread chat.json
      branchpoint chat --agents agents.yaml
      echo "What is Ann's address?" | branchpoint chat --contacts people.vcf

    What you type while an answer is being written enters it. Lines that begin with "/" steer: /tasks, /ask, /tell,
    /pause, /resume, /stop, /task, /context, /usage, /save, /help, /quit. Ctrl-C interrupts the answer, ctrl-D leaves.
    """
    setting = Setting(
        spec=spec,
        base_url=base_url,
        places=Places(contacts=contacts, files=files, outbox=outbox),
        thread=thread,
        image=image_name,
        sample=sample,
        policy=policy,
        agents=agents,
    )
    model = setting.model()
    if image_name != DEFAULT:
        find_image(image_name)
    elif spec.partition(":")[0] in ("openai", "openai-responses", "anthropic"):
        find_image()  # now, and not in the middle of an answer
    earlier = setting.conversation
    with clear_errors(about=earlier):
        conversation = Conversation() if earlier is None else Conversation.load(earlier)

    async def main(kept: Kept) -> int:
        if base_url is not None:
            await _reach(base_url)
        return await _converse(setting, model, conversation, kept, show_context=show_context)

    with recording("chat", setting.options(), file=record, wanted=not no_record) as kept:
        code = run_to_end(lambda: main(kept))
    sys.exit(code)


async def _reach(url: str) -> None:
    """Raise BadInput if nothing answers there."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(f"{url} is no address of a server, such as http://localhost:8080/v1.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    with trio.move_on_after(_PATIENCE):
        try:
            async with await trio.open_tcp_stream(parts.hostname, port):
                return
        except OSError:
            pass
    raise BadInput(f"the server {url} cannot be reached.")


async def _converse(
    setting: Setting, model: Model, conversation: Conversation, kept: Kept, *, show_context: bool
) -> int:
    front = _front()
    teller = Teller(front.line, front.piece, shows_context=show_context)

    def observe(event: Event) -> None:
        kept.observe(event)
        teller(event)

    async with (
        setting.staff(model) as staff,
        open_dialogue(
            staff.agent,
            conversation=conversation,
            crew=staff.crew,
            budget=staff.budget,
            observe=observe,
            image=setting.image,
            points=kept.points,
            workspace=staff.workspace,
        ) as dialogue,
    ):
        offered = ", ".join(capability.name for capability in staff.capabilities) or "nothing but tasks"
        front.line(f"{staff.model}, with {offered}. /help says what can be typed.", "dim")
        followed = await front.lead(Talk(dialogue, Orders(dialogue, teller)))
    return OK if followed and not teller.failed_turns else FAILED


def _front() -> Front:
    if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from host.cli.chatting.terminal import Terminal

        return Terminal()
    return Piped()
