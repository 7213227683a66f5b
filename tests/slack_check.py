#!/usr/bin/env python3
"""Checks rendered Slack messages against Slack's own Python package, and against the limits that it does not know.

Usage: slack_check.py FILE      one message a line, as JSON

The messages come from `cargo test -p matsu-wait --test slack`, which leaves them in
`target/tmp/slack_messages.jsonl`. Needs slack_sdk (tried with 3.48). Exit: 0 all are well, 1 one is not, 2 usage.
"""

import json
import re
import sys

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block, ContextBlock, HeaderBlock, SectionBlock

OUTCOMES = ("completed", "failed", "vanished", "cancelled", "gave-up", "cannot-check")
MESSAGE = {"text", "mrkdwn", "unfurl_links", "unfurl_media", "blocks"}
BLOCKS = {"header": HeaderBlock, "section": SectionBlock, "context": ContextBlock}
HEADER, SECTION, FIELD, FIELDS, ELEMENTS, MOST_BLOCKS, IN_ALL = 150, 3000, 2000, 10, 10, 50, 10_000
ENTITY = re.compile(r"&(?!(?:amp|lt|gt);)")


class Bad(Exception):
    """A message that Slack would refuse, or that says more than it should."""


def need(condition, why):
    if not condition:
        raise Bad(why)


def units(text):
    """Characters as Slack's clients count them: UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def check_text(where, text, longest):
    need(isinstance(text, str) and text.strip(), f"{where} is empty")
    need(units(text) <= longest, f"{where} has {units(text)} characters, of at most {longest}")
    need(not ENTITY.search(text), f"{where} has a bare or broken &")
    need("<" not in text and ">" not in text, f"{where} has markup of Slack's: a mention or a link")
    return units(text)


def check_object(where, value, longest):
    kind = value.get("type")
    if kind == "mrkdwn":
        need(value.get("verbatim") is True, f"{where} lets Slack look for links and mentions in it")
        need(set(value) == {"type", "text", "verbatim"}, f"{where} has other members: {sorted(value)}")
    else:
        need(kind == "plain_text", f"{where} is a {kind}")
        need(value.get("emoji") is False, f"{where} lets Slack turn words into emoji")
        need(set(value) == {"type", "text", "emoji"}, f"{where} has other members: {sorted(value)}")
    return check_text(where, value["text"], longest)


def texts(where, block):
    """Every text object of a block with its place and its limit."""
    kind = block["type"]
    if kind == "header":
        need(block["text"]["type"] == "plain_text", f"{where}: a header takes plain text only")
        return [(f"{where}.text", block["text"], HEADER)]
    if kind == "context":
        need(1 <= len(block["elements"]) <= ELEMENTS, f"{where} has {len(block['elements'])} elements")
        return [(f"{where}.elements[{n}]", e, SECTION) for n, e in enumerate(block["elements"])]
    found = [(f"{where}.text", block["text"], SECTION)] if "text" in block else []
    fields = block.get("fields", [])
    need(found or fields, f"{where} says nothing")
    need(len(fields) <= FIELDS, f"{where} has {len(fields)} fields")
    return found + [(f"{where}.fields[{n}]", f, FIELD) for n, f in enumerate(fields)]


def check(message):
    need(set(message) == MESSAGE, f"the message has the members {sorted(message)}")
    total = check_text("text", message["text"], SECTION)
    need(any(f" {word}" in message["text"] for word in OUTCOMES), "text has no outcome word")
    for name in ("mrkdwn", "unfurl_links", "unfurl_media"):
        need(message[name] is False, f"{name} is not off")
    need(1 <= len(message["blocks"]) <= MOST_BLOCKS, f"there are {len(message['blocks'])} blocks")
    for number, block in enumerate(message["blocks"]):
        where = f"blocks[{number}]"
        # The package lets unknown types pass.
        need(block.get("type") in BLOCKS, f"{where} is a {block.get('type')}")
        parsed = Block.parse(block)
        need(isinstance(parsed, BLOCKS[block["type"]]), f"{where} is not understood")
        need(parsed.to_dict() == block, f"{where} is understood as {parsed.to_dict()}")
        total += sum(check_object(*found) for found in texts(where, block))
    need(total < IN_ALL, f"there are {total} characters in all, of fewer than {IN_ALL}")


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    count = 0
    # Not splitlines: only a line feed ends a line of JSON.
    with open(arguments[0], encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            try:
                check(json.loads(line))
            except (Bad, SlackObjectFormationError, ValueError, KeyError, TypeError, AttributeError) as error:
                print(f"{arguments[0]}:{number}: {type(error).__name__}: {error}", file=sys.stderr)
                return 1
            count += 1
    if count == 0:
        print(f"{arguments[0]}: no message in it", file=sys.stderr)
        return 1
    print(f"{count} messages are well")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
