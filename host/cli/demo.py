"""`branchpoint demo`: one script on sample data, twice, forked and cold, side by side; or one task that delegates."""

from __future__ import annotations

import mailbox
import sys
import tempfile
from dataclasses import dataclass
from email import policy
from email.parser import BytesParser
from pathlib import Path
from typing import Final, NoReturn

import click
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from host.cli.chatting.children import Child, Children, exact, titled
from host.cli.chatting.telling import Style as Tone
from host.cli.chatting.telling import Teller
from host.cli.inputs import Places, find_image, opened, read_script, read_thread
from host.cli.running import run_to_end
from host.context import Inherited
from host.conversation import Conversation
from host.loop import Agent, open_dialogue
from host.models.lexical import Lexical
from host.opening import open_host
from host.samples import SAMPLES, Sample
from sandbox import Outcome
from sandbox.image import Image

__all__ = ["demo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How one of the two runs went: its outcome, its children, and the mails that lie in the outbox."""

    outcome: Outcome
    children: tuple[Child, ...]
    mails: tuple[str, ...]


@click.command()
@click.option("--sample", type=click.Choice(list(SAMPLES)), default="board", show_default=True, help="Which sample.")
@click.option("--show-context", is_flag=True, help="Print also what each child was sent, to the letter.")
@click.option("--task", is_flag=True, help="Instead: go on with the conversation, as a task that delegates in turn.")
def demo(sample: str, show_context: bool, task: bool) -> None:
    """Run a script on sample data, forked and cold, side by side.

    \b
    Samples:
      board       a board deck, a weekly report, and two Sarahs
      clinic      two reports and two Sarahs of another world, with the very same script
      renovation  four offers, two Toms, and a decision that was taken back
    """
    chosen = SAMPLES[sample]
    console = Console()
    if task:
        _show_task(console, chosen, show_context=show_context)
        return
    image = find_image()
    forked = _play(chosen, image, "fork")
    cold = _play(chosen, image, "cold")
    _show(console, chosen, forked, cold)
    if show_context:
        for child in (*forked.children, *cold.children):
            _show_sent(console, child)
    stopped = cold.outcome.error is not None and cold.outcome.error.type == "NeedsClarification"
    if not forked.outcome.ok or len(forked.mails) != 1:
        _failed("forked, the script should have sent one mail.")
    if not stopped or cold.mails:
        _failed("cold, the script should have raised NeedsClarification and sent nothing.")


def _show_sent(console: Console, child: Child) -> None:
    """What a child was sent: the title in words, then the text to the letter."""
    console.print(Text(f"\n{titled(child)}", style="bold"), soft_wrap=True)
    console.print(Text(exact(child)), soft_wrap=True)


# What the person says next in a sample's conversation, by the code that does the same.
_SAID: Final = {
    "send_report.py": "In the background, send the report to Sarah.",
    "accept_offer.py": "In the background, send the offer to Tom.",
}
_TONES: Final[dict[Tone, str]] = {"answer": "", "dim": "dim", "news": "cyan", "wrong": "yellow"}


def _show_task(console: Console, sample: Sample, *, show_context: bool) -> None:
    """Go on with a sample's conversation: the model starts a task, which forks, and which delegates in turn."""
    said = _SAID[sample.code.name]
    with tempfile.TemporaryDirectory(prefix="branchpoint-demo-") as folder:
        outbox = Path(folder) / "outbox"
        conversation = Conversation.load(sample.thread)
        console.print(Text(sample.about, style="bold"))
        console.print(Panel(_thread(conversation), title="the end of the conversation"))
        console.print(Text(f"> {said}", style="bold"))

        def line(text: str, tone: Tone) -> None:
            console.print(Text(text, style=_TONES[tone]), soft_wrap=True)

        teller = Teller(line, lambda piece: console.print(Text(piece), end=""))

        async def main() -> None:
            async with opened(Places(contacts=sample.contacts, files=sample.files, outbox=outbox)) as capabilities:
                agent = Agent(
                    name="assistant",
                    instructions="You help a person with their papers and their mail.",
                    model=Lexical(),
                    capabilities=tuple(capabilities),
                    tasks="self",
                )
                async with open_dialogue(agent, conversation=conversation, observe=teller) as dialogue:
                    await dialogue.say(said)
                    await dialogue.settled()

        run_to_end(main)
        mails = _mails(outbox)
    for child in teller.children:
        if show_context:
            _show_sent(console, child)
        else:
            console.print(Text(titled(child), style="dim"), soft_wrap=True)
    for mail in mails:
        console.print(Panel(Text(mail), title="outbox", title_align="left"))
    if len(mails) != 1:
        _failed("the task should have sent one mail.")


def _failed(sentence: str) -> NoReturn:
    click.echo(f"branchpoint: {sentence}", err=True)
    sys.exit(1)


def _play(sample: Sample, image: Image, context: str) -> Played:
    with tempfile.TemporaryDirectory(prefix="branchpoint-demo-") as folder:
        outbox = Path(folder) / "outbox"
        places = Places(contacts=sample.contacts, files=sample.files, outbox=outbox)
        inherited = read_thread(sample.thread, "fork") if context == "fork" else Inherited.cold()
        script = read_script(str(sample.code))
        children = Children(asker=script.name.rpartition("/")[2], inherited=inherited)

        async def main() -> Outcome:
            async with (
                opened(places, observe=children) as capabilities,
                open_host(capabilities=capabilities, image=image) as host,
                host.session(inherited=inherited, rollback=False) as session,
            ):
                return await session.run(script.source, name=sample.code.name)

        outcome = run_to_end(main)
        return Played(outcome=outcome, children=tuple(children), mails=_mails(outbox))


def _mails(folder: Path) -> tuple[str, ...]:
    if not folder.is_dir():
        return ()
    shown = []
    for mail in mailbox.Maildir(folder, create=False):
        parsed = BytesParser(policy=policy.default).parsebytes(mail.as_bytes())
        attached = ", ".join(str(part.get_filename()) for part in parsed.iter_attachments())
        shown.append(f"To: {parsed['to']}\nSubject: {parsed['subject']}\nAttached: {attached or 'nothing'}")
    return tuple(shown)


def _show(console: Console, sample: Sample, forked: Played, cold: Played) -> None:
    console.print(Text(sample.about, style="bold"))
    console.print(Panel(Syntax(sample.code.read_text(), "python", word_wrap=True), title=sample.code.name))
    console.print(Panel(_thread(Conversation.load(sample.thread)), title="the end of the conversation"))
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    table.add_row(
        Panel(_result(forked), title="forked", subtitle="children receive the conversation"),
        Panel(_result(cold), title="cold", subtitle="children receive the request"),
    )
    console.print(table)


def _thread(conversation: Conversation) -> RenderableType:
    said = [message for message in conversation if message.text and message.role in ("user", "assistant")]
    lines = [Text.assemble((f"{message.role}: ", "bold"), _short(message.text)) for message in said[-6:]]
    if len(said) > len(lines):
        lines.insert(0, Text(f"({_counted(len(said) - len(lines), 'earlier message')})", style="dim"))
    return Group(*lines)


def _short(text: str, most: int = 300) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]} ..."


def _result(played: Played) -> RenderableType:
    outcome = played.outcome
    parts: list[RenderableType] = []
    if outcome.stdout:
        parts.append(Text(outcome.stdout.rstrip()))
    if outcome.error is not None:
        parts.append(Text(f"{outcome.error.type}: {outcome.error.message}", style="yellow"))
    mails = played.mails or ("Nothing was sent.",)
    parts += [Panel(Text(mail), title="outbox", title_align="left") for mail in mails]
    usage = outcome.usage
    parts.append(Text(f"{_counted(usage.calls, 'call')}, {usage.cpu_ms:.0f} ms of processor time", style="dim"))
    return Group(*parts)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
