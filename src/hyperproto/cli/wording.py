"""Advice in the words of whoever reads it: keywords for Python, options for the command line."""

import re

__all__ = ["in_options"]

RENAMED = {"ranges": "range", "prior_missing": "missing"}  # options that are called otherwise than their keywords
KEYWORD = re.compile(r'`(?P<quoted>\w+)`|(?<![\w"/.-])(?P<key>[a-z_]+)=(?P<value>True|\.\.\.|"\w+"|\d+)')
PHRASES = {
    'Choose split "train" or "all"': "Add --split train or --split all",
    "Name one of them": "Add --name and one of them",
    "Pass valid=...": "Add --valid-share 0.1.",
}


def in_options(sentence: str, known: set[str]) -> str:
    """Rewrite `key`, key=True, key="value", key=value and "Pass key=...".

    >>> in_options("`held_out` is 2. Replace it, or pass skip_corrupt=True.", {"held_out", "skip_corrupt"})
    '--held-out is 2. Replace it, or add --skip-corrupt.'
    """
    for phrase, better in PHRASES.items():
        sentence = sentence.replace(phrase, better)
    sentence = re.sub(r"\b(P|p)ass (?=\w+=)", lambda found: "Add " if found[1] == "P" else "add ", sentence)

    def rewrite(found: re.Match[str]) -> str:
        key, value = found["quoted"] or found["key"], found["value"]
        name = RENAMED.get(key, key)
        if name not in known:
            return found[0]
        flag = "--" + name.replace("_", "-")
        if value == "...":  # the end of a sentence
            return f"{flag}."
        return flag if value in (None, "True") else f"{flag} {value.strip(chr(34))}"

    return KEYWORD.sub(rewrite, sentence)
