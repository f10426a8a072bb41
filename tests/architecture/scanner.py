# SPDX-License-Identifier: Apache-2.0
"""Finds the ends of things in C++ text of this project's style: literals, brackets, template heads, declarations."""

import re


class Unreadable(Exception):
    pass


def skip_blank(text, at):
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def skip_literal(text, at):
    """The end of the string or character literal that starts at `at`."""
    if raw := re.compile(r'R"([^(\s]*)\(').match(text, at):
        return text.index(f'){raw[1]}"', at) + len(raw[1]) + 2
    quote, at = text[at], at + 1
    while text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def step(text, at):
    """The end of what starts at `at`: a comment, a literal, or one character."""
    if text.startswith("//", at):
        return text.find("\n", at) % (len(text) + 1)
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    if text[at] == '"' or text.startswith('R"', at) or (text[at] == "'" and not (text[at - 1].isalnum())):
        return skip_literal(text, at)
    return at + 1


def skip_brackets(text, at):
    """The end of the bracket that opens at `at`, with everything inside it."""
    depth = 0
    while at < len(text):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at = step(text, at)
        if depth == 0:
            return at
    raise Unreadable("a bracket is not closed")


def skip_angles(text, at):
    """The end of the template parameter or argument list that opens at `at`."""
    depth = 0
    while at < len(text):
        if text[at] in "([{":
            at = skip_brackets(text, at)
            continue
        if text[at] == "<":
            depth += 1
        elif text[at] == ">" and text[at - 1] not in "-=":
            depth -= 1
            if depth == 0:
                return at + 1
        at = step(text, at)
    raise Unreadable("an angle bracket is not closed")


def skip_constraint(text, at):
    """The end of the expression of a requires-clause that starts at `at`."""
    while True:
        at = skip_blank(text, at)
        while text[at] == "!":
            at += 1
        if text[at] == "(":
            at = skip_brackets(text, at)
        else:
            word = re.compile(r"[\w:]+").match(text, at)
            if not word:
                raise Unreadable("a requires-clause that is not a chain of names")
            at = skip_blank(text, word.end())
            while text[at] == "<" or text[at] == "(" or (text[at] == "{" and word[0] == "requires"):
                at = skip_angles(text, at) if text[at] == "<" else skip_brackets(text, at)
                at = re.compile(r"(::\w+)*").match(text, at).end()
                at = skip_blank(text, at)
        at = skip_blank(text, at)
        if text[at : at + 2] not in ("&&", "||"):
            return at
        at += 2


def skip_heading(text, at):
    """The end of what may stand before a declaration: template heads with constraints, attributes."""
    while True:
        at = skip_blank(text, at)
        if template := re.compile(r"template\s*(?=<)").match(text, at):
            at = skip_blank(text, skip_angles(text, template.end()))
            if clause := re.compile(r"requires\b").match(text, at):
                at = skip_constraint(text, clause.end())
        elif text.startswith("[[", at):
            at = skip_brackets(text, at)
        else:
            return at


def end_of_declaration(text, at):
    """Where the signature of the declaration at `at` ends, and where the declaration ends."""
    signature = None  # known as soon as a member initialiser list or a body starts
    initialisers = False
    value = False
    parameters = False
    while at < len(text):
        character = text[at]
        if character == ";":
            return signature or at, at + 1
        if character == "{":
            before = text[:at].rstrip()
            block = skip_brackets(text, at)
            after = text[skip_blank(text, block)]
            if value or re.search(r"\brequires\s*(\([^()]*(\([^()]*\)[^()]*)*\))?$", before) or not parameters:
                at = block  # an initialiser or a requires-expression
                if not parameters and not value:
                    signature = signature or len(before)
                continue
            if initialisers and after in ",{":
                at = block
                continue
            return signature or len(before), block
        if character in "([":
            parameters = parameters or character == "("
            at = skip_brackets(text, at)
            continue
        if character == "=" and text[at - 1] not in "=!<>" and text[at + 1] != "=" and "operator" not in text[at - 9 : at]:
            value = not re.match(r"=\s*(default|delete|0)\s*;", text[at:])
        elif character == ":" and text[at - 1] != ":" and text[at + 1] != ":" and parameters and not value:
            initialisers, signature = True, signature or len(text[:at].rstrip())
        at = step(text, at)
    raise Unreadable("a declaration does not end")
