"""What can go wrong with an image. Each docstring says what the caller does next."""

from __future__ import annotations

from sandbox.errors import SandboxError

__all__ = [
    "CacheError",
    "ImageBuildError",
    "ImageError",
    "ImageFileError",
    "LinkError",
    "PackageError",
    "UnknownImageError",
]


class ImageError(SandboxError):
    """The root of all errors about images."""


class ImageBuildError(ImageError):
    """The guest could not be built. The message ends with what the build tool said; mend that, or report it."""


class LinkError(ImageError):
    """The component holds something that the linker does not know. Use the pinned componentize-py, or report it."""


class PackageError(ImageError):
    """A package cannot be baked into an image, for the reason given. Leave it out, or ask for another version."""


class CacheError(ImageError):
    """The cache folder cannot be used. Mend its permissions, or set BRANCHPOINT_CACHE to another one."""


class UnknownImageError(ImageError):
    """There is no image of this name. The message lists those there are; build it, or import it."""


class ImageFileError(ImageError):
    """The file is no exported image, or it is damaged. Export the image again."""
