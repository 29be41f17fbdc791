# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes pages of C headers that introspection does not read.

Uses each comment `/** NAME: ... */` and the declaration after it. Does not
depend on the place of the page.
"""

import re

COMMENT = re.compile(r"/\*\*[ \n](.*?)\*/\s*", re.S)
TITLE = re.compile(r"^(?:SECTION:(?P<section>\w+)\n|(?P<name>\w+): ?)(?P<body>.*)", re.S)
ANNOTATIONS = re.compile(r"^((?:\([\w -]+\) ?)+): ")
ARGUMENT = re.compile(r"^@(\w+): (.*?)(?=^@\w|^\s*$|\Z)", re.S | re.M)


class Entry:
    """A comment and its declaration."""

    def __init__(self, text, code):
        match = TITLE.match(text)
        self.is_section = bool(match["section"])
        self.name = match["section"] or match["name"]
        body = match["body"].strip("\n")
        self.arguments = [
            (name, for_people(what)) for name, what in ARGUMENT.findall(body)
        ]
        self.text = ARGUMENT.sub("", body).strip()
        self.declaration = declaration_of(code)

    @property
    def anchor(self):
        """The anchor that Markdown gives to a heading with this name."""
        return self.name.lower()


def declaration_of(code):
    """Returns the first declaration in the code, without a function's body."""
    code = re.sub(r"\A(?:#(?!define).*\n+)+", "", code)
    if code.startswith("#define"):
        return code.split("\n", 1)[0]
    if code.startswith("typedef") and "{" in code.split(";", 1)[0]:
        return code[: re.search(r"^\}.*?;", code, re.M).end()]
    return re.split(r"[;{]", code, maxsplit=1)[0].strip() + ";"


def for_people(text):
    """Returns the text of an argument on one line. Annotations are removed,
    because they are for programs.
    """
    text = " ".join(text.split())
    match = ANNOTATIONS.match(text)
    if not match:
        return text
    return text[match.end() :] + (", or `NULL`" if "nullable" in match[1] else "")


def sentence(text):
    """Adds a capital letter and a full stop. Some comments follow a name, and
    so they do not begin like a sentence.
    """
    text = text[:1].upper() + text[1:]
    return text + "." if text[-1:].isalnum() or text.endswith(")") else text


def strip_stars(comment):
    return "\n".join(
        re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.split("\n")
    ).strip()


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in COMMENT.finditer(text):
        comment = strip_stars(match[1])
        if TITLE.match(comment):
            yield Entry(comment, text[match.end() :])


def page(entries, references, title, macros):
    """Returns the page in Markdown. @macros are words of declarations that are
    left out, because they do not help a reader.
    """
    lines = ["Title: " + title, "", "# " + title, ""]
    for entry in entries:
        text = sentence(entry.text)
        if entry.is_section:
            lines += [references.markdown(text), ""]
            continue
        declaration = re.sub(r"\b(?:%s) " % "|".join(macros), "", entry.declaration)
        lines += ["## " + entry.name, ""]
        lines += ["```c", declaration, "```", ""]
        for name, what in entry.arguments:
            lines.append("- `%s`: %s" % (name, references.prose(what)))
        text = re.sub(r"^Returns: (?:\([\w -]+\) ?)+: ", "Returns: ", text, flags=re.M)
        text = re.sub(r"^(Returns|Since): ", r"**\1:** ", text, flags=re.M)
        lines += ["", references.markdown(text), ""]
    return "\n".join(lines)
