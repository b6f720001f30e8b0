"""Contacts: a vCard file in SQLite, as a capability."""

from host.contacts.book import Contact
from host.contacts.capability import Contacts, ContactsError, open_contacts

__all__ = ["Contact", "Contacts", "ContactsError", "open_contacts"]
