"""Images, recordings and documents as providers write them: of which kind and type they are, how large, and where.

The providers agree on little: what matters stands in the block itself or one level down, under a name that differs by
provider and kind, as a data URL, as base64 beside its type, as an address, or as the id of a file at the provider's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from host.conversation.parts import Media, MediaKind

__all__ = ["flattened", "media_in"]

type Json = Mapping[str, object]

_CONTAINERS: Final = ("source", "image_url", "video_url", "input_audio", "audio", "video", "file", "image")


def flattened(block: Json) -> Json:
    """A block with what stands one level down lifted into it; an address in such a place is called `url`."""
    for key in _CONTAINERS:
        inner = block.get(key)
        if isinstance(inner, dict):
            return {**block, **inner}
        if isinstance(inner, str):
            return {**block, "url": inner}
    return block


def media_in(block: Json, kind: MediaKind) -> Media | None:
    """What a block of media says about itself; None if it does not say where they are."""
    found = flattened(block)
    name = _first(found, "filename", "title", "name")
    media_type = _first(found, "media_type", "mime_type")
    if media_type is None and kind == "audio" and (format_ := _first(found, "format")) is not None:
        media_type = f"audio/{format_}"
    if found.get("type") == "content":
        return Media(kind=kind, media_type=media_type, name=name)
    data = _first(found, "data", "base64", "file_data")
    if data is not None and found.get("type") == "text":
        size = len(data.encode("utf-8", "surrogatepass"))
        return Media(kind=kind, media_type=media_type or "text/plain", size=size, name=name)
    address = _first(found, "url", "file_url")
    if data is not None and not data.startswith("data:"):
        data = f"data:{media_type or ''};base64,{data}"
    elif data is None and address is not None and address.startswith("data:"):
        data = address
    if data is not None:
        head, _, encoded = data.partition(",")
        stated = head[len("data:") :].partition(";")[0]
        return Media(kind=kind, media_type=stated or media_type, size=_decoded_size(encoded), source=data, name=name)
    if address is not None:
        return Media(kind=kind, media_type=media_type, source=address, name=name)
    file = _first(found, "file_id", "id")
    return None if file is None else Media(kind=kind, media_type=media_type, source=f"file:{file}", name=name)


def _first(found: Json, *keys: str) -> str | None:
    """The first of these that is a string with something in it."""
    return next((value for key in keys if isinstance(value := found.get(key), str) and value), None)


def _decoded_size(encoded: str) -> int:
    """How many bytes base64 text stands for."""
    padding = 2 if encoded.endswith("==") else 1 if encoded.endswith("=") else 0
    return (len(encoded) - padding) * 3 // 4
