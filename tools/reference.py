#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Reads the public names of the headers and their contracts; docs/site writes the pages of the reference from them.

usage: reference.py --check | --count [--root DIR]

--check prints a line for each public name without a contract, and ends with 1 if there is one. --count prints how many
names each facade exports, and all of them together. Exit code 77: python3-clang-19 or a third party's header is missing.

libclang tells the names, with their kinds and places. The text of a declaration, and the contract above or behind
it, are cut out of the header at these places.
"""

import argparse
import ast
import dataclasses
import pathlib
import re
import sys

from public_headers import exported, public_headers

ROOT = pathlib.Path(__file__).resolve().parents[1]
TORCH = pathlib.Path("/usr/include/torch/csrc/api/include")
KAFKA = pathlib.Path("/usr/include/librdkafka")
# Our kind of each of libclang's. UNEXPOSED_DECL is a variable template.
KIND_OF = {
    "CLASS_DECL": "class", "STRUCT_DECL": "class", "CLASS_TEMPLATE": "class", "ENUM_DECL": "enum", "CONCEPT_DECL": "concept",
    "TYPE_ALIAS_DECL": "alias", "TYPE_ALIAS_TEMPLATE_DECL": "alias", "FUNCTION_DECL": "function",
    "FUNCTION_TEMPLATE": "function", "CXX_METHOD": "function", "CONSTRUCTOR": "function", "DESTRUCTOR": "function",
    "CONVERSION_FUNCTION": "function", "VAR_DECL": "variable", "UNEXPOSED_DECL": "variable", "FIELD_DECL": "field",
    "ENUM_CONSTANT_DECL": "enumerator", "MACRO_DEFINITION": "macro",
}
# Every enum of errors has them; the page of errors says it once.
WITHOUT_CONTRACT = {"make_error_code", "make_error_condition"}
LITERAL = re.compile(rb'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'')
TWIN = re.compile(rb"\s*\{\s*(constexpr bool[^;]*;\s*)*(static_assert\(|detail::explain_)")
# It takes or returns a type such as `detail::NoTrainer`, which stands for what a static_assert has refused.
REFUSED = re.compile(r"(-> *|\(const (distrib::)?)detail::No[A-Z]\w*(&|$)")


@dataclasses.dataclass
class Item:
    kind: str
    name: str
    scope: str  # what stands before the name: "", "hadoop::", "RpcClient::"
    header: str  # its path from include/distrib
    signature: str
    doc: str
    follows: bool  # directly below another declaration: without a contract of its own it shares that one's
    is_twin: bool = False  # the overload that explains a wrong argument
    members: list = dataclasses.field(default_factory=list)

    @property
    def full_name(self):
        return self.scope + self.name

    @property
    def anchor(self):
        return re.sub(r"[^\w:~]", lambda sign: f"-{ord(sign[0]):x}", self.full_name).replace("::", ".")

    @property
    def is_special(self):
        return self.name.startswith(("operator", "~"))

    @property
    def has_errors(self):
        return self.kind == "enum" and (self.name.endswith("_errc") or self.name == "failure")


def is_torchs(diagnostic):
    """True for errors in LibTorch 1.13's own headers: clang does not accept its vectors of incomplete types as C++20."""
    return any("c10::IValue" in text.spelling for text in [diagnostic, *diagnostic.children])


def parse(root, headers, *options):
    """The headers as one unit, without bodies of functions."""
    try:
        from clang.cindex import Diagnostic, Index, TranslationUnit
    except ImportError:
        print("skipped: this Python finds no python3-clang-19", file=sys.stderr)
        sys.exit(77)
    unit = Index.create().parse(
        "all.cpp", ["-xc++", "-std=c++20", f"-I{root}/include", "-DDISTRIB_SEPARATE_COMPILATION", *options],
        [("all.cpp", "".join(f"#include <distrib/{name}>\n" for name in headers))],
        TranslationUnit.PARSE_SKIP_FUNCTION_BODIES | TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    problems = [str(d) for d in unit.diagnostics if d.severity >= Diagnostic.Error and not is_torchs(d)]
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        sys.exit(77 if re.search(r"'(?!distrib/)[^']*' file not found", problems[0]) else 1)
    return unit


def end_of_declaration(data, at, kind):
    """Where the body, the initialisers or the semicolon of the function, class or enum begin whose name is at `at`."""
    depth = 0
    while depth or data[at] not in b"{;":
        if kind == "function" and not depth and re.match(rb"\s:[^:]|\stry\b", data[at:at + 5]):
            break
        depth += (data[at] in b"([{") - (data[at] in b")]}")
        literal = LITERAL.match(data, at)
        at = literal.end() if literal else at + 1
    return at


def tidy(text, indent):
    """A declaration without comments, without what only compilers read, and without the indentation of its first line."""
    text = re.sub(r"\[\[(nodiscard|maybe_unused)\]\] ?|\binline ", "", re.sub(r"\s*//[^\n]*", "", text)).strip()
    return re.sub(rf"\n(\s*\n)*( {{0,{indent}}})", "\n", text)


def contract(data, start, end):
    """The `///` lines above and `///<` behind; and whether a declaration stands directly above."""
    above, found = data[:start].decode().split("\n")[:-1], []
    while above and re.match(r"\s*//(?!/<)", above[-1]):  # lines with `//` are for those who read the code
        line = above.pop().strip()
        found[:0] = [line[3:].removeprefix(" ")] if line.startswith("///") else []
    if behind := re.match(rb"[^\n]*?///<([^\n]*(?:\n\s*///<[^\n]*)*)", data[end:]):
        found += [line.strip() for line in re.split(r"\n\s*///<", behind[1].decode())]
    return "\n".join(found).strip(), bool(above) and above[-1].rstrip().endswith((";", "}"))


class Reader:
    """Reads the public headers of a checkout: their `items`, and in `texts` the condition and the text of each error."""

    def __init__(self, root):
        self.root, self.texts, self.items = root, {}, []
        # LibTorch's headers are not read together with others: they may have another version of protobuf's.
        door = [name for name in public_headers(root) if name.startswith("libtorch/")]
        others = [name for name in public_headers(root) if name not in door]
        if not KAFKA.exists():
            print("kafka/ is left out: librdkafka (librdkafka-dev) is not installed")
            others = [name for name in others if not name.startswith("kafka/")]
        if door and not TORCH.exists():
            print("libtorch/ is left out: LibTorch (libtorch-dev) is not installed")
            door = []
        self.headers = sorted([*others, *door])
        for headers, options in [(others, []), (door, ["-isystem", str(TORCH), "-ferror-limit=0"])]:
            if headers:
                self.data = {name: (root / "include/distrib" / name).read_bytes() for name in headers}
                self.items += self.read(parse(root, headers, *options).cursor)

    def header_of(self, cursor):
        name = cursor.location.file.name if cursor.location.file else ""
        return name.removeprefix(f"{self.root}/include/distrib/")

    def item(self, cursor, kind, scope):
        data, at = self.data[self.header_of(cursor)], cursor.location.offset
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if end == 0:  # libclang 19 gives no extent to a function with `auto` parameters
            start = max(data.rfind(stop, 0, at) + len(stop) for stop in (b";\n", b"}\n", b"{\n", b":\n", b"\n\n"))
            while re.match(rb"\s*//", data[start:at]):
                start = data.index(b"\n", start) + 1
        if kind in ("function", "class", "enum"):
            end = end_of_declaration(data, at, kind)
        doc, follows = contract(data, start, end)
        line = data[data.rfind(b"\n", 0, start) + 1:start]
        text = tidy(data[start:end].decode(), len(line) - len(line.lstrip()))
        if kind == "variable" and text.count("\n") > 2:
            text = re.split(r"\s*=", text, maxsplit=1)[0]
        item = Item(kind, name_of(cursor, data[at:end].decode()), scope, self.header_of(cursor),
                    "#define " * (kind == "macro") + text, doc, follows)
        item.is_twin = kind == "function" and (not doc or "speaking twin" in doc) and bool(TWIN.match(data, end))
        return item

    def read(self, parent, scope=""):
        """The public items inside of a cursor."""
        found = []
        for cursor in parent.get_children():
            name, kind = cursor.kind.name, KIND_OF.get(cursor.kind.name)
            if self.header_of(cursor) not in self.data:
                continue
            if name == "NAMESPACE":
                if cursor.spelling == "detail":
                    self.read_texts(cursor)
                else:
                    found += self.read(cursor, scope + f"{cursor.spelling}::" * (cursor.spelling not in ("distrib", "v0")))
                continue
            if name == "FRIEND_DECL":
                cursor = next((c for c in cursor.get_children() if c.spelling.startswith("operator")), None)
                kind = cursor and "function"
            elif kind == "class" and not cursor.is_definition() and parent.kind.name != "NAMESPACE":
                cursor = cursor.get_definition() or cursor  # a member class that is defined below its class
            elif kind != "macro" and cursor.semantic_parent != cursor.lexical_parent:
                continue  # a member that is defined below its class, or a specialisation of a template of others
            if kind and not self.is_hidden(cursor, kind):
                found.append(item := self.item(cursor, kind, scope))
                if kind in ("class", "enum"):
                    item.members = self.read(cursor, item.full_name + "::")
        names = {item.name for item in found if not item.is_twin}
        return [item for item in found if not (item.is_twin and item.name in names)
                and (item.doc or not REFUSED.search(item.signature))]

    def is_hidden(self, cursor, kind):
        behind = self.data[self.header_of(cursor)][cursor.location.offset + len(cursor.spelling):]
        return (cursor.access_specifier.name in ("PRIVATE", "PROTECTED") or "(" in cursor.spelling.removeprefix("operator()")
                or (kind in ("class", "enum") and not cursor.is_definition())
                or (kind in ("class", "variable") and behind.startswith(b"<"))  # a specialisation
                or (kind == "macro" and not cursor.spelling.startswith("DISTRIB_")))

    def read_texts(self, namespace):
        for table in namespace.get_children():
            if table.kind.name == "VAR_DECL" and "ErrorText" in table.type.spelling:
                error = condition = ""
                for part in table.walk_preorder():
                    if part.kind.name == "STRING_LITERAL":
                        self.texts[error] = condition, ast.literal_eval(part.spelling)
                    elif part.kind.name == "DECL_REF_EXPR" and part.referenced.kind.name == "ENUM_CONSTANT_DECL":
                        name = f"{part.referenced.semantic_parent.spelling}::{part.spelling}"
                        error, condition = (error, name) if name.startswith("failure::") else (name, "")


def name_of(cursor, text):
    if cursor.kind.name == "CONVERSION_FUNCTION":  # libclang resolves aliases
        return " ".join(text.partition("(")[0].split())
    if cursor.spelling.startswith("operator"):
        return cursor.spelling
    return re.sub(r"^<deduction guide for (\w+)>|<.*", r"\1", cursor.spelling)


def groups(items):
    """Items with one entry: overloads, and declarations that share the contract above them."""
    found = []
    for item in items:
        if same := next((g for g in found if any(other.name == item.name for other in g)), None):
            same.append(item)
        elif item.follows and not item.doc and not item.is_special and found and found[-1][-1].kind == item.kind:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def check(reader):
    missing = list(without_contract(reader))
    sys.stderr.writelines(f"{line}\n" for line in missing)
    return 1 if missing else 0


def without_contract(reader):
    for header in reader.headers:
        for group in groups([item for item in reader.items if item.header == header]):
            first = group[0]
            if not any(item.doc for item in group) and first.name not in WITHOUT_CONTRACT and not first.is_special:
                yield f"{header}: {first.kind} {first.full_name} needs a /// contract"
            for member in first.members if first.has_errors else []:
                if not member.doc:
                    yield f"{header}: {member.full_name} needs `///< cause. remedy.`"


def count(reader):
    names = {facade: {item.name for item in reader.items if item.header in headers}
             for facade, headers in exported(reader.root).items() if headers}
    for facade, found in names.items():
        print(f"{len(found):5}  {facade}")
    print(f"{len(set().union(*names.values())):5}  names in all facades")


def main():
    parser = argparse.ArgumentParser(usage="reference.py --check | --count [--root DIR]")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    actions = parser.add_mutually_exclusive_group(required=True)
    actions.add_argument("--check", action="store_const", const=check, dest="action")
    actions.add_argument("--count", action="store_const", const=count, dest="action")
    options = parser.parse_args()
    sys.exit(options.action(Reader(options.root.resolve())))


if __name__ == "__main__":
    main()
