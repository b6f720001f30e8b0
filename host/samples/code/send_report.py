# Finds the report, looks up where it goes, and puts a mail with it into the outbox.
report = await search.ask("the report")
sarah = await contacts.ask("Sarah's address")

body = f"Hello {sarah.name},\n\nplease find attached: {report.title}.\n"
sent = await outbox.send(to=sarah.email, subject=report.title, body=body, attach=report.path)

print(f"{report.path} -> {sarah.name} <{sarah.email}>")
sent
