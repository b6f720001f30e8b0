"""OpenAI and every server that speaks its protocols, through the `openai` SDK: chat completions and responses.

`OpenAIChat` is understood nearly everywhere (hosted models, llama.cpp, vLLM, Ollama). `OpenAIResponses` is OpenAI's
newer form, in which a reasoning model can be given its own sealed reasoning again. Both run under trio.
"""

from host.models.openai.chat import OpenAIChat
from host.models.openai.responses import OpenAIResponses

__all__ = ["OpenAIChat", "OpenAIResponses"]
