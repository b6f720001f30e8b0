"""The channel between a host and its guest, without any I/O: both ends import it, and a test can join them in memory.

`HostChannel` and `GuestChannel` turn events into frames and back and know whose turn it is. See events.py for what can
be said.
"""

from guest_stdlib.channel.budget import CodecLimits
from guest_stdlib.channel.codec import Codec, End
from guest_stdlib.channel.errors import ChannelError, Damaged, LocalError, PeerError, TooLarge, Unsendable
from guest_stdlib.channel.events import (
    NEED_DATA,
    Abandon,
    Call,
    Cancel,
    Done,
    Event,
    Failed,
    Failure,
    FromGuest,
    FromHost,
    Interrupted,
    NeedData,
    Open,
    Output,
    Rest,
    Return,
    Run,
    Throw,
)
from guest_stdlib.channel.state import GuestChannel, HostChannel
from guest_stdlib.channel.turns import Phase, Via
from guest_stdlib.channel.values import Member, Opaque, Record

__all__ = [
    "NEED_DATA",
    "Abandon",
    "Call",
    "Cancel",
    "ChannelError",
    "Codec",
    "CodecLimits",
    "Damaged",
    "Done",
    "End",
    "Event",
    "Failed",
    "Failure",
    "FromGuest",
    "FromHost",
    "GuestChannel",
    "HostChannel",
    "Interrupted",
    "LocalError",
    "Member",
    "NeedData",
    "Opaque",
    "Open",
    "Output",
    "PeerError",
    "Phase",
    "Record",
    "Rest",
    "Return",
    "Run",
    "Throw",
    "TooLarge",
    "Unsendable",
    "Via",
]
