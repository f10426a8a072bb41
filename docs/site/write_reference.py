# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the reference from the items that tools/reference.py reads: a page for each header, an overview of
each room, the list of all errors, and an index."""

import re
import textwrap

import reference
from links import relative

INDEX, ERRORS = "reference/README.md", "reference/errors.md"
# Members of these kinds are rows of a table; they have no entries of their own.
VALUES = ("variable", "field", "enumerator")
# A paragraph of a contract that begins with one of these words and a colon is shown with the word as its label.
LABELS = "Errors|Threads|Cancellation|Example|Lifetime|Memory|Semantics"
# The first sentence. A full stop in a code span, or without a space behind it, does not end it.
SENTENCE = re.compile(r"(?:`[^`]*`|[^`.]|\.(?!\s))*\.?")
LONGEST_EXAMPLE = 14  # lines; longer paragraphs of code are not shown
ABOUT_ERRORS = """\
The errors of a room are the values of its enums, such as `rpc_errc`. A function that knows the place of its failures
(file, offset, record, flag, task) has two overloads. One throws a `ThrownError`, a `std::system_error` whose text begins
with the place. The other fills an `ErrorRef`. A function that can report only a code fills a `std::error_code`. To decide
what to do about an error, compare it with a `failure`: `if (ec == failure::corrupt) ...`. So that such comparisons compile,
there is a `make_error_code` for each enum of errors, and a `make_error_condition` for `failure`."""


def page_of(header):
    return f"reference/{header.removesuffix('.hpp')}.md"


def page_of_room(room):
    return f"reference/{room}.md"


def listed(reader):
    """Returns the items that have an entry. The others are mentioned once, in ABOUT_ERRORS."""
    return [item for item in reader.items if item.name not in reference.WITHOUT_CONTRACT]


def with_members(items):
    for item in items:
        yield item
        yield from with_members(item.members)


def names_of(reader):
    """Returns the page and the anchor of each public name, as "page#anchor"."""
    names = {}
    for item in with_members(listed(reader)):
        names.setdefault(item.full_name, f"{page_of(item.header)}#{item.anchor}")
    return names


def aliases_of(reader):
    """Returns for each alias of a class of this library the name of that class."""
    items = list(with_members(reader.items))
    classes = {item.full_name for item in items if item.kind == "class"}
    found = {}
    for alias in items:
        if alias.kind == "alias":
            of = re.search(r"=\s*(?:typename )?([\w:]*)", alias.signature)[1]
            scopes = alias.scope.split("::")[:-1]  # as C++ looks a name up: in the innermost scope first
            nearest_first = ["::".join([*scopes[:depth], of]) for depth in range(len(scopes), -1, -1)]
            found[alias.full_name] = next((name for name in nearest_first if name in classes and name != alias.full_name), None)
    return {name: of for name, of in found.items() if of}


def as_markdown(doc):
    """Returns a contract as Python-Markdown needs it: with a blank line before a list, with the further lines of a list
    entry indented by four columns, and with each `<` outside of code spans escaped, because it would begin a tag. Each
    labelled paragraph is separated from the text above it, and its label is bold.
    """
    text = re.sub(r"(?m)^(?!- |\s)(.+)\n(?=- )", r"\1\n\n", doc)
    text = re.sub(r"(?m)^ {2,3}(?=\S)", "    ", text)
    text = "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in re.split(r"(`[^`]*`)", text))
    return re.sub(rf"(?m)\n*^({LABELS}): ", r"\n\n**\1:** ", text).strip()


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def code(lines):
    return ["```cpp", *lines, "```", ""]


def hidden(anchors):
    """Returns lines with these anchors, for names that have no heading of their own."""
    return ["<div>" + "".join(f'<a id="{anchor}"></a>' for anchor in anchors) + "</div>", ""] if anchors else []


def synopsis(item):
    """Returns the declaration. That of a class or an enum contains the declarations of all public members."""
    if item.kind not in ("class", "enum"):
        return item.signature + ";" * (item.kind != "macro")
    lines = [textwrap.indent(line_of(member), "  ") + "\n" for member in item.members]
    return item.signature + (" {\n" + "".join(lines) + "};" if lines else " {};")


def line_of(member):
    if member.kind == "enumerator":
        return member.signature + ","
    if member.kind in ("class", "enum"):  # without the bases, or the type of the enumerators
        return re.sub(r"\s+:\s.*", "", member.signature, flags=re.DOTALL) + ";"
    return member.signature + ";"


def about(root, room):
    """Returns the comment at the beginning of the room's facade as Markdown, or "" if there is none."""
    facade = root / f"include/distrib/{room}.hpp"
    said = re.match(r"// SPDX[^\n]*\n((?://[^\n]*\n)*)", facade.read_text())[1] if facade.exists() else ""
    return as_markdown(" ".join(line.removeprefix("//").strip() for line in said.splitlines()))


def examples_of(root):
    """Returns for each name the path of an example and a paragraph of it that uses the name.

    The example is the first numbered one that uses the name in a paragraph of at most LONGEST_EXAMPLE lines. The paragraph
    is the shortest of these; one whose braces do not match is taken only if there is no other.
    """
    found = {}
    for path in sorted(root.glob("examples/[0-9]*.cpp")):
        of_this = {}
        for text in re.split(r"\n\s*\n", path.read_text()):
            lines = without_ends(text.strip("\n").split("\n"))
            text = textwrap.dedent("\n".join(lines))
            size = len(lines) + LONGEST_EXAMPLE * (text.count("{") != text.count("}"))
            for name in set(re.findall(r"\bdistrib::([\w:]+)", text)):
                if len(lines) <= LONGEST_EXAMPLE and size < of_this.get(name, (1000,))[0]:
                    of_this[name] = size, text
        for name, (_, text) in of_this.items():
            found.setdefault(name, (str(path.relative_to(root)), text))
    return found


def without_ends(lines):
    """Returns the lines of a paragraph without the braces that match a brace in another paragraph: without the first line
    of a function that ends in a later one, and without closing braces at the end of what began in an earlier one.
    """
    unclosed = sum(line.count("{") - line.count("}") for line in lines)
    if unclosed > 0 and lines[0].endswith("{"):
        return lines[1:]
    while unclosed < 0 and lines[-1].strip() == "}":
        lines, unclosed = lines[:-1], unclosed + 1
    return lines


class Reference:
    def __init__(self, reader, links):
        self.root, self.links, self.texts = reader.root, links, reader.texts
        self.items, self.examples = listed(reader), examples_of(reader.root)
        self.concepts = {item.full_name for item in self.items if item.kind == "concept"}
        self.places = {}  # for each name the pages with their anchors: overloads may be in several headers
        for item in self.items:
            self.places.setdefault(item.full_name, {}).setdefault(item.header, f"{page_of(item.header)}#{item.anchor}")
        self.rooms = {}  # for each room its headers with their items; "" stands for the headers outside of rooms
        for header in reader.headers:
            if items := [item for item in self.items if item.header == header]:
                self.rooms.setdefault(header.split("/")[0] if "/" in header else "", {})[header] = items

    def write(self, folder):
        """Writes all pages. Returns the names of the overviews of the rooms, for the navigation."""
        overviews = {page_of_room(room): self.room(room, headers) for room, headers in sorted(self.rooms.items()) if room}
        pages = {INDEX: self.index(), ERRORS: self.errors()} | overviews
        for headers in self.rooms.values():
            pages |= {page_of(header): Header(self, header, items).lines for header, items in headers.items()}
        for name, lines in pages.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("\n".join(lines) + "\n")
        return list(overviews)

    def name(self, name, page):
        return f"[`{name}`]({relative(page, self.links.names[name])})"

    def contract(self, item, page, scope, doc=None):
        """Returns the contract of `item` for `page`; with `doc`, a part of the contract, only this part. Names in it become
        links: they are looked up in `scope` first, then in the library.
        """
        text = as_markdown(item.doc if doc is None else doc)
        return self.links.linked(text, f"include/distrib/{item.header}", page, scope, item.signature)

    def error(self, name, page, *more):
        """Returns a row of a table of errors: the error, the condition that it equals, its text, then `more`."""
        condition, text = self.texts.get(name, ("", ""))
        text = text.replace("<", "&lt;")  # which would begin a tag
        return f"| {' | '.join([self.name(name, page), condition and self.name(condition, page), cell(text), *more])} |"

    def index(self):
        lines = ["# Reference", "", "The contract of every public name, copied from the headers. All errors, with their "
                 "causes and remedies, are on [one page](errors.md).", "", "| room | contains |", "|---|---|"]
        for room in filter(None, sorted(self.rooms)):
            headers = ", ".join(f"[{header}]({relative(INDEX, page_of(header))})" for header in self.rooms[room])
            lines.append(f"| [{room}]({room}.md) | {about(self.root, room) or headers} |")
        lines += ["", "## All names", ""]
        letter = ""
        for name in sorted({item.full_name for item in self.items}, key=lambda name: (name.lower(), name)):
            if name[0].lower() != letter:
                letter = name[0].lower()
                lines += ["", f"**{letter.upper()}** "]
            places = self.places[name]
            lines[-1] += f" {self.name(name, INDEX)}" if len(places) == 1 else f" `{name}` (" + ", ".join(
                f"[{header}]({relative(INDEX, place)})" for header, place in sorted(places.items())) + ")"
        return lines

    def room(self, room, headers):
        page, guide = page_of_room(room), f"docs/guide/rooms/{room}.md"
        lines = [f"# {room}", "", f"[Reference]({relative(page, INDEX)})", ""]
        if (self.root / f"include/distrib/{room}.hpp").exists():
            lines += [about(self.root, room), "", *code([f"#include <distrib/{room}.hpp>"])]
        if (self.root / guide).exists():
            lines += [f"How to use this room: [the guide]({relative(page, self.links.page_of(guide))}).", ""]
        lines += ["| name | is |", "|---|---|"]
        for header, items in headers.items():
            for group in reference.groups(items):
                names = ", ".join(f"[`{name}`]({relative(page, self.places[name][header])})"
                                  for name in dict.fromkeys(item.full_name for item in group))
                said = next((item for item in group if item.doc), group[0])
                brief = self.contract(said, page, said.scope, SENTENCE.match(cell(said.doc))[0])
                lines.append(f"| {names} | {brief}<br>[{header}]({relative(page, page_of(header))}) |")
        return lines

    def errors(self):
        lines = ["# Errors", "", self.links.linked(ABOUT_ERRORS, "docs", ERRORS), ""]
        for item in filter(lambda item: item.has_errors, self.items):
            scope, conditions = item.full_name + "::", item.name == "failure"
            lines += [f"## {item.name}", "", f"[{item.header}]({relative(ERRORS, page_of(item.header))}): "
                      f"{self.contract(item, ERRORS, scope)}", ""]
            lines += ["| condition | cause and remedy |", "|---|---|"] if conditions else \
                ["| error | equals | text | cause and remedy |", "|---|---|---|---|"]
            for member in item.members:
                said = cell(self.contract(member, ERRORS, scope))
                lines.append(f"| {self.name(member.full_name, ERRORS)} | {said} |" if conditions else
                             self.error(member.full_name, ERRORS, said))
            lines.append("")
        return lines


class Header:
    """The page of a header. `lines` has an entry for each name; overloads, and names that share a contract, have one
    together. `used`: the anchors that the page has already.
    """

    def __init__(self, whole, header, items):
        self.whole, self.page, self.used = whole, page_of(header), set()
        room = header.split("/")[0] if "/" in header else ""
        above = f"[Reference]({relative(self.page, INDEX)})"
        above += f" / [{room}]({relative(self.page, page_of_room(room))})" if room else ""
        self.lines = [f"# {header}", "", above, "", *code([f"#include <distrib/{header}>"])]
        for group in reference.groups(items):
            self.entry(group, 2)

    def entry(self, group, level):
        """Adds the entry of a group of items: the heading, the declarations, the contracts, the concepts and errors in
        them, a table of fields and enumerators, an example, and the entries of the other members.

        Members without a contract get an anchor but no entry: the declaration of the class shows them.
        """
        names = ", ".join(dict.fromkeys(f"`{item.name}`" for item in group))
        anchors = self.unused(group)
        self.lines += [f"{'#' * level} {names} {{: #{group[0].anchor} }}", "", *hidden(anchors[1:])]
        numbered = sum(bool(item.doc) for item in group) > 1
        self.lines += code(synopsis(item) + f"  // ({number})" * numbered for number, item in enumerate(group, 1))
        for number, item in enumerate(group, 1):
            if item.doc:
                self.lines += [f"({number}) " * numbered + self.whole.contract(item, self.page, item.full_name + "::"), ""]
        self.names("Constraints", self.concepts_in(group))
        self.names("Members", [self.whole.links.aliases.get(item.full_name) for item in group])
        self.errors_named(group)
        said_above = self.values([member for item in group for member in item.members if member.kind in VALUES])
        if level == 2:
            self.example(group[0])
        for item in group:
            for members in reference.groups([member for member in item.members if member.kind not in VALUES]):
                if any(member.doc or member.members for member in members):
                    self.entry(members, level + 1)
                else:
                    said_above += members
        self.lines += hidden(self.unused(said_above))

    def unused(self, items):
        """Returns the anchors of these items that the page does not have yet. The caller must write them."""
        found = [anchor for anchor in dict.fromkeys(item.anchor for item in items) if anchor not in self.used]
        self.used.update(found)
        return found

    def names(self, label, names):
        if found := [self.whole.name(name, self.page) for name in names if name]:
            self.lines += [f"**{label}:** " + ", ".join(found), ""]

    def concepts_in(self, group):
        """Returns the concepts in the declarations. If the namespace of the items and the library have a concept of the
        same name, returns that of the namespace.
        """
        words = dict.fromkeys(re.findall(r"(?<!:)\b\w+", " ".join(item.signature for item in group if item.kind != "concept")))
        namespace = group[0].scope.partition("::")[0] + "::"
        found = [name for word in words for name in [namespace + word, word] if name in self.whole.concepts]
        return [name for name in found if namespace + name not in found]

    def errors_named(self, group):
        """Adds a table of the errors that the contracts name. A contract may name the enumerator alone, `lost`, if one of
        these contracts names an error of the same enum in full, `rpc_errc::closed`.
        """
        spans = re.findall(r"`(?:distrib::)?([\w:]+)`", " ".join(item.doc for item in group))
        enums = dict.fromkeys(span.partition("::")[0] for span in spans if "_errc::" in span)
        found = [name for span in spans for name in [span, *(f"{enum}::{span}" for enum in enums)] if name in self.whole.texts]
        if found:
            rows = [self.whole.error(name, self.page) for name in dict.fromkeys(found)]
            self.lines += ["| error | equals | text |", "|---|---|---|", *rows, ""]

    def values(self, members):
        """Adds a table of these fields and enumerators, and returns []. If none of them has a contract, adds nothing and
        returns all of them.
        """
        if not any(member.doc for member in members):
            return members
        self.lines += ["| member | meaning |", "|---|---|"]
        for member in members:
            anchors = "".join(f'<a id="{anchor}"></a>' for anchor in self.unused([member]))
            text = cell(self.whole.contract(member, self.page, member.scope))
            self.lines.append(f'| {anchors}`{cell(member.signature)}` | {text} |')
        self.lines.append("")
        return []

    def example(self, item):
        """Adds the example of the name. If other headers have overloads, an example that does not include this header
        itself may use one of these, and is left out.
        """
        if item.full_name in self.whole.examples:
            path, text = self.whole.examples[item.full_name]
            if len(self.whole.places[item.full_name]) > 1 and \
                    f"#include <distrib/{item.header}>" not in (self.whole.root / path).read_text():
                return
            self.whole.links.wanted.add(path)
            link = relative(self.page, self.whole.links.page_of(path))
            self.lines += [f"**Example**, from [{path}]({link}):", "", *code([text])]
