from host.models.lexical.model import Lexical

__all__ = ["Lexical"]
