#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference from the /// contracts in the public headers: one page per room, a page of errors, an index.

usage: reference.py [--check | --count]

A header is public if a facade includes it: <distrib/record.hpp> exports record/frame.hpp. A header of an optional
component is public, too, if the facade of its room cannot export it. The page of errors also has the errors of internal
headers, because a program can meet them without including these.

Fails if a public name has no contract. With --check it writes nothing, and fails if a page is not current. With --count
it prints how many names each facade exports, and how many there are in all.

It reads the style of this project, not all of C++. What it cannot read is an error; nothing is left out silently.
"""

import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ROOT / "include/distrib"
PAGES = ROOT / "docs/reference"
COMPONENTS = ROOT / "cmake/DistribComponents.cmake"
NOTE = "<!-- Written by tools/reference.py from the contracts in the headers; edit those. -->\n\n"
# Documented once for all rooms, on the page of errors.
WITHOUT_CONTRACT = {"make_error_code", "make_error_condition"}
ROOMS = ["", "core", "cluster", "record", "tensor", "optimizer", "net", "message", "placement", "sharding", "rpc",
         "checkpoint", "summary", "example", "remote", "ps", "data", "hadoop", "spark", "train", "tf", "sim"]


@dataclasses.dataclass
class Item:
    kind: str  # class, enum, concept, alias, function, variable, macro
    name: str
    signature: str
    doc: str
    members: list = dataclasses.field(default_factory=list)
    follows: bool = False  # directly below another item: if it has no doc of its own, it shares that of the other


class Unreadable(Exception):
    pass


def optional_headers(cmake):
    """The pattern of the headers of each optional component, by path below include/distrib; from one CMake file."""
    text = cmake.read_text() if cmake.exists() else ""
    return {component: re.compile(pattern)
            for component, pattern in re.findall(r'^set\(distrib_(\w+)_headers "([^"]+)"\)$', text, re.MULTILINE)}


def exported():
    """The headers that each facade includes, without other facades."""
    return {path.name: [name for name in re.findall(r"^#include <distrib/([^>]+)>$", path.read_text(), re.MULTILINE)
                        if "/" in name or name == "version.hpp"]
            for path in sorted(HEADERS.glob("*.hpp"))}


def public_headers():
    patterns = optional_headers(COMPONENTS).values()
    names = {name for found in exported().values() for name in found}
    for path in HEADERS.rglob("*.hpp"):
        name = str(path.relative_to(HEADERS))
        facade = name.split("/")[0] + ".hpp"
        if "/detail/" not in name and any(p.match(name) for p in patterns) and not any(p.match(facade) for p in patterns):
            names.add(name)
    return names


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


def doc_text(lines):
    return "\n".join(lines).strip()


def tidy(signature):
    """A signature without comments, common indentation and words that tell a reader nothing."""
    signature = re.sub(r"\s*//[^\n]*", "", signature)
    signature = re.sub(r"^template <class = void>\s+", "", signature)  # a parameter that only defers compilation
    lines = [line.rstrip() for line in signature.split("\n") if line.strip()]
    if len(lines) > 1:
        indent = min(len(line) - len(line.lstrip()) for line in lines[1:])
        lines[1:] = [line[indent:] if lines[0].startswith("template") else "    " + line.lstrip() for line in lines[1:]]
    return re.sub(r"\b(inline|DISTRIB_DECL) |\[\[nodiscard\]\] ?", "", "\n".join(lines)).strip()


def enumerators(body):
    """The members of an enum with their comments."""
    members, doc = [], []
    for line in body.split("\n"):
        line = line.strip()
        if line.startswith("///<") and members:
            members[-1].doc += " " + line[4:].strip()
        elif line.startswith("///"):
            doc.append(line[3:].strip())
        elif line and not line.startswith("//"):
            code, _, comment = line.partition("//")
            for part in code.split(","):
                if part.strip():
                    name = re.match(r"\w+", part.strip())
                    if not name:
                        raise Unreadable(f"an enumerator without a name in `{line}`")
                    members.append(Item("enumerator", name[0], part.strip(), doc_text(doc)))
                    doc = []
            if comment.startswith("/<") and members:
                members[-1].doc = comment[2:].strip()
    return members


def classify(declaration):
    """Kind and name of a declaration without its heading; the kind is None if it is not a public name of this library."""
    if match := re.match(r"enum\s+(?:class\s+|struct\s+)?(\w+)", declaration):
        return "enum", match[1]
    if match := re.match(r"(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*)?(?:alignas\([^)]*\)\s*)?([\w:]+)\s*([<;]?)", declaration):
        return (None if match[2] else "class"), match[1]  # `<`: a specialisation; `;`: only declared
    if match := re.match(r"concept\s+(\w+)", declaration):
        return "concept", match[1]
    if match := re.match(r"using\s+(\w+)\s*(?:\[\[.*?\]\]\s*)?=", declaration):
        return "alias", match[1]
    if re.match(r"(friend|static_assert|using|extern|typedef)\b", declaration):
        return None, ""
    operator = re.search(r"((?:[\w>]+::)?)(operator\s*(?:\(\)|\[\]|\"\"\s*\w+|[^\s\w(]+|[\w:]+(?:\s*[*&])?))\s*\(", declaration)
    plain = None
    for match in re.finditer(r"((?:[\w>]+::)*)(~?\w+)\s*(?=\()", declaration):
        if match[2] not in ("decltype", "explicit", "noexcept", "alignas", "requires", "sizeof", "__attribute__", "asm"):
            plain = match
            break
    value = re.search(r"[={]", declaration)
    if operator:
        return (None if operator[1] else "function"), operator[2]
    if plain and not (value and value.start() < plain.start()):
        before = declaration[: plain.start()].rstrip()
        if not before.endswith("<"):
            return (None if plain[1] else "function"), plain[2]
    if re.match(r"[^={]*\w<[^={]*>\s*[={]", declaration) and re.search(r">\s*$", declaration[: value.start()]):
        return None, ""  # a specialisation of a variable
    name = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", declaration.rstrip(";"))
    if value:
        name = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", declaration[: value.start()])
    if not name:
        raise Unreadable(f"an unknown declaration: `{declaration.splitlines()[0]}`")
    return "variable", name[1]


def scan(text, at, in_class, private=False):
    """The public items from `at` to the end of the scope or of the text, and where that is."""
    items, doc, follows = [], [], False
    while True:
        start = at
        at = skip_blank(text, at)
        if text[start:at].count("\n") > 1:
            doc, follows = [], False
        if at == len(text) or text[at] == "}":
            return items, at
        if text.startswith("///<", at):  # belongs to the item before, also on another line
            end = step(text, at)
            if items and not private:
                items[-1].doc = (items[-1].doc + " " + text[at + 4 : end].strip()).strip()
            at = end
            continue
        if text.startswith("///", at):
            end = step(text, at)
            doc.append(text[at + 3 : end].removeprefix(" "))
            at = end
            continue
        if text.startswith(("//", "/*"), at):
            at = step(text, at)
            continue
        if text[at] == "#":
            end = re.compile(r"(\\\n|[^\n])*").match(text, at).end()
            if macro := re.match(r"#define (DISTRIB_\w+)(.*)", text[at:end]):
                items.append(Item("macro", macro[1], "#define " + macro[1] + macro[2], doc_text(doc)))
            at, doc = end, []
            continue
        if label := re.compile(r"(public|private|protected)\s*:").match(text, at):
            private, at, doc = label[1] != "public", label.end(), []
            continue
        if text[at] == ";":
            at += 1
            continue
        if scope := re.compile(r"(inline\s+)?namespace\b([\w:\s]*)\{|extern \"C\" \{").match(text, at):
            if re.search(r"\bdetail\b", scope[2] or ""):
                at = skip_brackets(text, scope.end() - 1)
            else:
                inner, at = scan(text, scope.end(), False)
                items += inner
                at += 1
            doc = []
            continue

        heading = skip_heading(text, at)
        kind, name = classify(without_comments(text, heading))
        if kind in ("class", "enum"):
            body = text.index("{", heading) if "{" in text[heading:] else -1
            semicolon = text.find(";", heading)
            if body < 0 or semicolon < body:  # an opaque enum
                at, doc = semicolon + 1, []
                continue
            item = Item(kind, name, tidy(text[at:body]), doc_text(doc))
            close = skip_brackets(text, body)
            if kind == "enum":
                item.members = enumerators(text[body + 1 : close - 1])
            else:
                item.members = scan(text, body + 1, True, text.startswith("class", heading))[0]
            end = text.index(";", close) + 1
        else:
            signature, end = end_of_declaration(text, heading)
            if kind == "concept":
                signature = end - 1
            item = Item(kind, name, tidy(text[at:signature]), doc_text(doc))
            whole = tidy(text[at : end - 1])
            if kind == "alias" or (kind == "variable" and "\n" not in whole and len(whole) <= 100):
                item.signature = whole
        if item.signature.endswith("-> detail::Poison"):
            kind = None  # the unconstrained overload of an entry point: it only makes the compiler report an error
        if kind is not None and not private:
            item.follows = follows and bool(items)
            items.append(item)
        elif trailing := re.compile(r"[ \t]*///<[^\n]*").match(text, end):
            end = trailing.end()
        at, doc, follows = end, [], True


def without_comments(text, at):
    """The start of one declaration, from `at` to the first `;` or body, without comments."""
    end = at
    while end < len(text) and text[end] not in ";}":
        if text[end] in "([":
            end = skip_brackets(text, end)
        elif text[end] == "{":
            break
        else:
            end = step(text, end)
    return re.sub(r"//[^\n]*", "", text[at : end + 1])


def read(path):
    try:
        items, at = scan(path.read_text(), 0, False)
        if at < len(path.read_text()):
            raise Unreadable("there is a closing bracket too many")
        return items
    except (Unreadable, ValueError, IndexError) as problem:
        sys.exit(f"{path.relative_to(ROOT)}: this script cannot read it: {problem}")


def without_contract(headers):
    """Public names without a contract. An overload shares the contract of another one in the same header."""
    for header, items in headers.items():
        documented = {item.name for group in groups(items) if group[0].doc for item in group}
        reported = set()
        for item in items:
            if item.kind == "enum" and (item.name.endswith("_errc") or item.name == "failure"):
                for member in item.members:
                    if not member.doc:
                        yield f"{header}: {item.name}::{member.name} needs a comment `///< Cause. Remedy.`"
            if item.name in documented | WITHOUT_CONTRACT | reported or item.name.startswith("operator"):
                continue
            reported.add(item.name)
            yield f"{header}: {item.kind} {item.name} needs a contract, a comment with ///"


def groups(items):
    """Items that share one contract, which is above the first of them."""
    found = []
    for item in items:
        sibling = next((g for g in found if any(i.name == item.name for i in g)), None)
        if item.doc or not found:
            found.append([item])
        elif item.follows:
            found[-1].append(item)
        elif sibling:
            sibling.append(item)
        else:
            found.append([item])
    return found


def one_line(doc):
    return " ".join(doc.split()).replace("|", "\\|")


def brief(doc):
    """The first sentence."""
    return re.split(r"(?<=[.:;])\s", one_line(doc), maxsplit=1)[0].rstrip(":;")


def section(group):
    lines = ["### " + ", ".join(dict.fromkeys(item.name for item in group)) + "\n", "```cpp"]
    lines += [item.signature for item in group]
    lines.append("```\n")
    if group[0].doc:
        lines.append(group[0].doc + "\n")
    for item in group:
        if item.kind == "enum":
            if any(member.doc for member in item.members):
                lines += ["| member | meaning |", "|---|---|"]
                lines += [f"| `{one_line(m.signature)}` | {one_line(m.doc)} |" for m in item.members]
            else:
                lines.append(", ".join(f"`{member.signature}`" for member in item.members))
            lines.append("")
        elif item.members:
            for members in groups(item.members):
                signatures = [" ".join(member.signature.split()) for member in members]
                lines.append("- " + "  \n  ".join(f"`{signature}`" for signature in signatures) +
                             (f"  \n  {one_line(members[0].doc)}" if members[0].doc else ""))
            lines.append("")
    return "\n".join(lines)


def room_page(room, headers):
    title = room or "distrib"
    lines = [NOTE + f"# {title}\n"]
    lines += ["| header | names |", "|---|---|"]
    for header, items in headers.items():
        names = list(dict.fromkeys(item.name for item in items))
        lines.append(f"| [`{header}`](#{re.sub(r'[^a-z0-9_]', '', header)}) | " + ", ".join(f"`{n}`" for n in names) + " |")
    lines.append("")
    for header, items in headers.items():
        lines.append(f"## {header}\n")
        lines += ["```cpp", f"#include <distrib/{header}>", "```\n"]
        lines += [section(group) for group in groups(items) if group[0].name not in WITHOUT_CONTRACT]
    return "\n".join(lines).rstrip() + "\n"


def errors_page(headers):
    lines = [NOTE + "# Errors\n",
             "Every room has one enum of errors. A function that may fail has two faces: one throws `std::system_error`",
             "whose text says where (file, offset, record, flag, task), the other fills a `std::error_code`. What to *do*",
             "about an error is asked by comparing it with a `distrib::failure`: `if (ec == failure::corrupt) ...`.\n"]
    for header, items in headers.items():
        for item in items:
            if item.kind != "enum" or not (item.name.endswith("_errc") or item.name == "failure"):
                continue
            rows = {}
            for row in re.finditer(rf"{item.name}::(\w+)\s*\)?\s*,\s*failure::(\w+)\s*,\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)",
                                   (HEADERS / header).read_text()):
                rows[row[1]] = row[2], "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", row[3]))
            lines += [f"## {item.name}\n", f"`#include <distrib/{header}>`. {one_line(item.doc)}\n"]
            if item.name == "failure":
                lines += ["| condition | cause and remedy |", "|---|---|"]
                lines += [f"| `{m.name}` | {one_line(m.doc)} |" for m in item.members]
            else:
                lines += ["| error | equals | text | cause and remedy |", "|---|---|---|---|"]
                for member in item.members:
                    condition, words = rows.get(member.name, ("", ""))
                    condition = f"`failure::{condition}`" if condition else ""
                    lines.append(f"| `{member.name}` | {condition} | {one_line(words)} | {one_line(member.doc)} |")
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def index_page(rooms):
    lines = [NOTE + "# Reference\n",
             "The contract of every public name, as it stands in the headers. [errors.md](errors.md) lists all errors.\n"]
    for room, headers in rooms.items():
        lines += [f"## [{room or 'distrib'}]({room or 'distrib'}.md)\n", "| name | |", "|---|---|"]
        for items in headers.values():
            for group in groups(items):
                names = dict.fromkeys(item.name for item in group if item.name not in WITHOUT_CONTRACT)
                if names:
                    lines.append("| " + ", ".join(f"`{name}`" for name in names) + f" | {brief(group[0].doc)} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def count():
    names = {facade: {item.name for name in headers for item in read(HEADERS / name)}
             for facade, headers in exported().items() if headers}
    for facade, found in names.items():
        print(f"{len(found):5}  {facade}")
    print(f"{len(set().union(*names.values())):5}  names in all facades")


def main():
    if sys.argv[1:] not in ([], ["--check"], ["--count"]):
        sys.exit(__doc__)
    if sys.argv[1:] == ["--count"]:
        return count()
    public = public_headers()
    headers, errors = {}, {}
    for path in sorted(HEADERS.rglob("*.hpp")):
        name = str(path.relative_to(HEADERS))
        if name in public and (items := read(path)):
            headers[name] = errors[name] = items
        elif "/detail/" not in name and re.search(r"enum class (\w+_errc|failure) ", path.read_text()):
            errors[name] = read(path)
    missing = list(without_contract(errors))
    if missing:
        sys.exit("\n".join(missing))

    rooms = {}
    for header, items in headers.items():
        rooms.setdefault(header.split("/")[0] if "/" in header else "", {})[header] = items
    if unknown := set(rooms) - set(ROOMS):
        sys.exit(f"tools/reference.py: add these rooms to ROOMS: {', '.join(sorted(unknown))}")
    rooms = {room: rooms[room] for room in ROOMS if room in rooms}
    pages = {f"{room or 'distrib'}.md": room_page(room, found) for room, found in rooms.items()}
    pages |= {"errors.md": errors_page(errors), "README.md": index_page(rooms)}

    stale = [name for name, text in pages.items() if not (PAGES / name).exists() or (PAGES / name).read_text() != text]
    extra = [path for path in sorted(PAGES.glob("*.md")) if path.name not in pages]
    if sys.argv[1:] == ["--check"]:
        if stale or extra:
            sys.exit("docs/reference is not up to date, run tools/reference.py: " +
                     ", ".join([*stale, *(path.name for path in extra)]))
        return
    PAGES.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (PAGES / name).write_text(pages[name])
    for path in extra:
        path.unlink()


if __name__ == "__main__":
    main()
