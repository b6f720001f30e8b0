"""What an event loop does elsewhere and cannot do here: refused by name, with one sentence about what is possible.

asyncio's own refusal is a NotImplementedError without a word.
"""

from __future__ import annotations

from typing import Final, Never

__all__ = ["refuse"]

_REFUSED: Final = {
    "there are no threads here; call the function directly": "run_in_executor set_default_executor",
    "there is no network here; what is outside is reached through the capabilities in scope": (
        "create_connection create_server create_datagram_endpoint create_unix_connection create_unix_server "
        "getaddrinfo getnameinfo start_tls sendfile connect_accepted_socket sock_recv sock_recv_into sock_recvfrom "
        "sock_recvfrom_into sock_sendall sock_sendto sock_connect sock_accept sock_sendfile"
    ),
    "no processes can be started here; do the work in Python": "subprocess_exec subprocess_shell",
    "there are no file descriptors to watch here": (
        "add_reader remove_reader add_writer remove_writer connect_read_pipe connect_write_pipe"
    ),
    "signals belong to the sandbox": "add_signal_handler remove_signal_handler",
}


def refuse(loop: type) -> None:
    """Give a loop class the methods that refuse."""
    for reason, names in _REFUSED.items():
        for name in names.split():
            _refuse(loop, name, reason)


def _refuse(loop: type, name: str, reason: str) -> None:
    def refused(*_: object, **__: object) -> Never:
        raise RuntimeError(f"{name} cannot work: {reason}.")

    refused.__name__ = name
    refused.__doc__ = "Refused, with the reason."
    setattr(loop, name, refused)
