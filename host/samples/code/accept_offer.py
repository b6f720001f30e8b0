# Accepts the offer that was settled on: finds it, reads what it comes to, and writes to whoever made it.
from asyncio import gather

offer, tom = await gather(search.ask("the offer"), contacts.ask("Tom"))
text = await search.read(offer.path)
total = next(line for line in text.splitlines() if line.startswith("Total"))

sent = await outbox.send(
    to=tom.email,
    subject=f"Your offer: {offer.title}",
    body=f"Hello {tom.name},\n\nwe accept your offer. {total}.\n\nKind regards\n",
)
print(f"{offer.path} ({total}) -> {tom.name}")
sent
