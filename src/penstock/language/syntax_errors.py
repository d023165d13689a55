"""What sqlglot says of a text that it cannot read, in our words."""

from __future__ import annotations

import re

from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.language.dialect import CLOSING, OPENING
from penstock.language.model_grammar import FOREIGN_WORD, MODEL_CLAUSES
from penstock.language.places import ScriptSource, suggestion

INSTEAD = {
    "ALTER": "Say DROP SUBSCRIPTION, and SUBSCRIBE anew; in Python, `subscription.alter(…)`.",
    "UNSUBSCRIBE": "Write DROP SUBSCRIPTION name.",
    "DELETE": "Rows come and go by the sources of streams and tables.",
    "INSERT": "Rows come and go by the sources of streams and tables.",
    "UPDATE": "Rows come and go by the sources of streams and tables.",
    "SHOW": "`penstock list HOME` shows what is declared and what stands.",
    "DESCRIBE": "`penstock list HOME` shows what is declared and what stands.",
    "SET": "Write OPTIONS (…) behind the statement.",
}
"""What to do instead of statements that others have."""
QUOTE = 'A name that is a word of SQL, or has other signs than letters and _, is quoted: "my-name".'


def refuse_odd_number(number: Token, rest: Token, source: ScriptSource) -> None:
    """Refuse what reads as a number and a name: DuckDB means one number by `0x10`."""
    if rest.token_type is not TokenType.VAR:
        return
    word = f"{number.text}{rest.text}"
    try:
        remedy = f"Write it in decimal digits: {int(word, 0)}."
    except ValueError:
        remedy = "Put a blank before the name, or correct the number."
    raise source.error("SQL-001", f"{word!r} is not a number here.", remedy, at=number.start)


def refuse_open_bracket(tokens: list[Token], source: ScriptSource) -> None:
    """Refuse a bracket that is never closed: within `min(` sqlglot does not miss it."""
    opened = list[Token]()
    for token in tokens:
        if token.token_type in OPENING:
            opened.append(token)
        elif token.token_type in CLOSING and opened:
            opened.pop()
        elif token.token_type is TokenType.SEMICOLON and opened:
            break
    if opened:
        last = opened[-1]
        fact = f"A {last.text} opens here and is never closed."
        raise source.error("SQL-001", fact, "Close it.", at=last.start)


def token_error(error: TokenError, source: ScriptSource) -> Exception:
    """Say what cannot be split into words."""
    match = re.search(r"Missing (.+) from \d+:(\d+)", str(error.__cause__))
    if match is None:
        fact, at = "The text cannot be split into words.", error.end or 0
        return source.error("SQL-001", fact, "Remove the unreadable character.", at=at)
    fact = f"A {match[1]} opens here and is never closed."
    return source.error("SQL-001", fact, f"Close it with {match[1]}.", at=int(match[2]))


def syntax_error(error: ParseError, source: ScriptSource) -> Exception:
    """Say in our words what sqlglot found; its own speak of Python classes."""
    facts = error.errors[0]
    message, text, previous = facts["description"], facts["text"], facts["previous"]
    if message.startswith("Required keyword"):
        fact = f"Something is missing after {previous!r}."
        remedy = "Complete the expression."
    elif message.startswith(FOREIGN_WORD):
        fact = f"{message}."
        remedy = f"Known are: {', '.join(MODEL_CLAUSES)}, OPTIONS."
        remedy = suggestion(text, (*MODEL_CLAUSES, "OPTIONS"), remedy)
        return source.error("MDL-001", fact, remedy, at=facts["start"])
    elif text.upper() in MODEL_CLAUSES and message == "Expecting )":
        fact = f"{text.upper()} stands inside brackets."
        remedy = f"Write {text.upper()} at the end of the whole query: it is about its answer."
        return source.error("MDL-001", fact, remedy, at=facts["start"])
    elif match := re.fullmatch(r"(?:Expected|Expecting) (.+?)(?: but got .*)?", message):
        fact = f"Expected {match[1]} " + (f"before {text!r}." if text else "at the end.")
        remedy = f"Write {match[1]} here."
        if text == "-" or match[1].endswith("name"):
            remedy = QUOTE
    elif message.startswith("MEMORY stands"):
        fact, remedy = f"{message}.", "Move it to the end of the SELECT."
    elif message.startswith("The number of provided arguments"):
        fact, remedy = f"{message}.", "Correct the function's arguments."
    else:
        fact = f"{text!r} is not expected here." if text else "The statement ends too early."
        remedy = "Check the words before it; statements are separated by ';'."
        if text.upper() == "OPTIONS":
            remedy = "OPTIONS is of SUBSCRIBE; beside a query's text write options={…} in Python."
        elif text == ":":
            remedy = "Write a source in quotes: 'csv:/data/trades'."
    return source.error("SQL-001", fact, remedy, at=facts["start"])
