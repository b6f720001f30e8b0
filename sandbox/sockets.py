"""What is refused: there are no sockets. Each import of wasi:sockets answers with the interface's own error code.

The image has these imports, since its C library has them. Part of the boundary: see `world.py`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["IDLE", "LISTENING", "REFUSALS"]

SOCKETS: Final = 1  # network error-code.access-denied


def _methods(interface: str, resource: str, code: int, offsets: dict[int, str]) -> dict[str, tuple[int, int]]:
    return {
        f"{interface}#[method]{resource}.{method}": (code, offset)
        for offset, methods in offsets.items()
        for method in methods.split()
    }


# Import -> (error code, where it lies behind the tag byte: the alignment of the ok and error payloads).
REFUSALS: Final[dict[str, tuple[int, int]]] = {
    **_methods(
        "sockets/udp",
        "udp-socket",
        SOCKETS,
        {
            1: "start-bind finish-bind unicast-hop-limit set-unicast-hop-limit set-receive-buffer-size "
            "set-send-buffer-size",
            4: "stream local-address remote-address",
            8: "receive-buffer-size send-buffer-size",
        },
    ),
    **_methods("sockets/udp", "incoming-datagram-stream", SOCKETS, {4: "receive"}),
    **_methods("sockets/udp", "outgoing-datagram-stream", SOCKETS, {8: "check-send send"}),
    **_methods(
        "sockets/tcp",
        "tcp-socket",
        SOCKETS,
        {
            1: "start-bind finish-bind start-connect start-listen finish-listen set-listen-backlog-size "
            "keep-alive-enabled set-keep-alive-enabled set-keep-alive-idle-time set-keep-alive-interval "
            "set-keep-alive-count hop-limit set-hop-limit set-receive-buffer-size set-send-buffer-size shutdown",
            4: "finish-connect accept local-address remote-address keep-alive-count",
            8: "keep-alive-idle-time keep-alive-interval receive-buffer-size send-buffer-size",
        },
    ),
    **_methods("sockets/ip-name-lookup", "resolve-address-stream", SOCKETS, {2: "resolve-next-address"}),
    "sockets/ip-name-lookup#resolve-addresses": (SOCKETS, 4),
    "sockets/udp-create-socket#create-udp-socket": (SOCKETS, 4),
    "sockets/tcp-create-socket#create-tcp-socket": (SOCKETS, 4),
}

IDLE: Final = {
    "sockets/udp#[method]udp-socket.subscribe",
    "sockets/udp#[method]incoming-datagram-stream.subscribe",
    "sockets/udp#[method]outgoing-datagram-stream.subscribe",
    "sockets/tcp#[method]tcp-socket.subscribe",
    "sockets/ip-name-lookup#[method]resolve-address-stream.subscribe",
}
"""Waiting on a socket that cannot exist: ready at once, and the next operation is refused."""

LISTENING: Final = "sockets/tcp#[method]tcp-socket.is-listening"
