"""The rules that our requests are held against refuse what the API refuses, so that keeping them says something."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.anthropic_rules import Json, refusal_of

MARK = {"cache_control": {"type": "ephemeral"}}
GOOD: Json = {
    "model": "claude-x",
    "max_tokens": 2000,
    "system": [{"type": "text", "text": "Be kind."}],
    "tools": [{"name": "look", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]},
                {"type": "text", "text": "and?"},
            ],
        },
        {"role": "system", "content": [{"type": "text", "text": "Hurry."}]},
    ],
}

ASSISTANT = {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}


def test_a_good_body_is_accepted() -> None:
    """With all that can stand in one."""
    assert refusal_of(GOOD) is None
    assert refusal_of(GOOD | {"thinking": {"type": "enabled", "budget_tokens": 1024}}) is None


def at(*path: str | int) -> Callable[[Json], Any]:
    def found(body: Any) -> Any:
        for step in path:
            body = body[step]
        return body

    return found


SPOKEN, ANSWER = at("messages", 1, "content"), at("messages", 2, "content")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b: b.pop("max_tokens"), "max_tokens: field required"),
        (lambda b: b.update(temperature_=1), "extra inputs are not permitted"),
        (lambda b: b.update(messages=[]), "at least one message"),
        (lambda b: b["messages"].pop(0), "the first message must be the user's"),
        (lambda b: b["messages"].append(ASSISTANT), "does not support assistant message prefill"),
        (lambda b: b["messages"].insert(1, b["messages"][0]), "roles must alternate"),
        (lambda b: b["messages"].append(b["messages"][0]), "must precede an 'assistant'"),
        (lambda b: b["messages"].insert(2, b["messages"][3]), "must follow a 'user' message"),
        (lambda b: b["system"].append({"type": "text", "text": " "}), "non-whitespace"),
        (lambda b: b["tools"][0].update(name="a b"), "should match the pattern"),
        (lambda b: b["tools"][0].update(input_schema={}), "should be 'object'"),
        (lambda b: SPOKEN(b).reverse(), "cannot be `thinking`"),
        (lambda b: SPOKEN(b)[0].update(signature=""), "field required"),
        (lambda b: SPOKEN(b)[0].update(MARK), "cannot be marked"),
        (lambda b: SPOKEN(b)[1].update(input=[]), "should be an object"),
        (lambda b: SPOKEN(b)[1].update(id="a|b"), "should match the pattern"),
        (lambda b: SPOKEN(b)[1].update(input={"a": "\ud800"}), "not UTF-8"),
        (lambda b: SPOKEN(b).append(SPOKEN(b)[1]), "ids must be unique"),
        (lambda b: SPOKEN(b).append({"type": "image"}), "not permitted in role"),
        (lambda b: ANSWER(b).pop(0), "each tool_use must have a single result"),
        (lambda b: ANSWER(b).reverse(), "must be first"),
        (lambda b: ANSWER(b)[0].update(is_error=True, content=[]), "cannot be empty"),
        (lambda b: ANSWER(b)[1].update(by="me"), "extra inputs are not permitted"),
        (lambda b: ANSWER(b)[1].update(text="\ud800"), "not UTF-8"),
        (lambda b: [each.update(MARK) for each in (*ANSWER(b), *b["tools"], *b["system"], SPOKEN(b)[1])], "maximum"),
        (lambda b: b.update(thinking={"type": "enabled", "budget_tokens": 9}), "out of range"),
        (
            lambda b: (SPOKEN(b).pop(0), b.update(thinking={"type": "enabled", "budget_tokens": 1024})),
            "Expected `thinking`",
        ),
        (
            lambda b: ANSWER(b).append({"type": "image", "source": {"type": "url", "url": "http://a"}}),
            "only HTTPS",
        ),
        (
            lambda b: ANSWER(b).append(
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "*"}}
            ),
            "invalid base64",
        ),
    ],
)
def test_a_body_that_breaks_one_rule_is_refused(change: Callable[[Json], object], said: str) -> None:
    """Each with the sentence that names the rule."""
    body = deepcopy(GOOD)
    change(body)
    assert said in (refusal_of(body) or "")
