#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders a template for a cluster manager: plain Jinja2, in which a missing value is an error.

usage: render.py TEMPLATE [--values FILE]... [-D name=value]... [--check]

  --values FILE   a YAML or JSON file with values; a later file overrides earlier ones
  -D name=value   one value; overrides files. A JSON number, boolean, list or object is read as such, anything else is a
                  string
  --check         validates the result by the rules of its format: Kubernetes, Compose, JSON with a schema, shell script

The result goes to stdout, and only if there was no error. Exit codes: 64 a wrong option, 65 a value is missing or the
result is not valid, 66 a file cannot be read, 69 a Python package is missing, 74 stdout cannot be written.
"""

import argparse
import json
import pathlib
import sys

USAGE, DATA, NO_INPUT, UNAVAILABLE, IO = 64, 65, 66, 69, 74


class Refused(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def module(name, package):
    """A module that only some templates need; if it is missing, the error says how to install it."""
    try:
        return __import__(name)
    except ImportError:
        raise Refused(UNAVAILABLE, f"Python's {name} is missing: apt-get install {package}") from None


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not UTF-8"
        raise Refused(NO_INPUT, f"{path}: {reason}") from None


def values_of(path):
    text = read(path)
    try:
        if path.endswith(".json"):
            values = json.loads(text)
        else:
            yaml = module("yaml", "python3-yaml")
            try:
                values = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(str(error)) from None
    except ValueError as error:
        raise Refused(DATA, f"{path}: {' '.join(str(error).split())}") from None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise Refused(DATA, f"{path}: not a mapping of names to values")
    return values


def definition(text):
    """The name and the value of `-D name=value`."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise Refused(USAGE, f"-D {text}: write -D name=value")
    try:
        parsed = json.loads(value, parse_constant=lambda word: word)
    except ValueError:
        return name, value
    return name, value if parsed is None or isinstance(parsed, str) else parsed


def refuse_undefined(value):
    """Called by `| tojson` for a value without a JSON form: if it is an undefined name, the error says which one."""
    import jinja2

    if isinstance(value, jinja2.Undefined):
        value._fail_with_undefined_error()
    raise TypeError(f"a {type(value).__name__} has no JSON form: {value}")


def environment_for(template):
    jinja2 = module("jinja2", "python3-jinja2")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined,
                                     loader=jinja2.FileSystemLoader(str(template.parent)))
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": refuse_undefined}
    return environment


def known_names(environment, name):
    """The values that the template and the templates included by it use. None if it includes a template whose name is
    known only when it runs."""
    from jinja2 import meta

    found, others = set(), [name]
    for other in others:
        tree = environment.parse(environment.loader.get_source(environment, other)[0], filename=other)
        found |= meta.find_undeclared_variables(tree)
        for inner in meta.find_referenced_templates(tree):
            if inner is None:
                return None
            if inner not in others:
                others.append(inner)
    return found


def line_of(error, template):
    """The place of an error in the template, or in one that it includes: the innermost frame in a template."""
    file, line, trace = getattr(error, "filename", None), getattr(error, "lineno", None), error.__traceback__
    while trace:
        path = pathlib.Path(trace.tb_frame.f_code.co_filename)
        if path.suffix == ".jinja":
            file, line = path, trace.tb_lineno
        trace = trace.tb_next
    return f"{template.with_name(pathlib.Path(file or template).name)}:{line}" if line else str(template)


def render(template, values, defined):
    """The rendered text. `values` may have names that the template does not use, because a file may serve several
    templates; `defined` may not."""
    read(template)
    environment = environment_for(template)
    import jinja2

    try:
        known = known_names(environment, template.name)
        for name in defined:
            if known is not None and name not in known:
                raise Refused(USAGE, f"-D {name}: {template} has no such value; its values: {', '.join(sorted(known))}")
        return environment.get_template(template.name).render(values | defined) + "\n"
    except jinja2.UndefinedError as error:
        raise Refused(DATA, f"{line_of(error, template)}: {error.message}: set it with -D or --values") from None
    except jinja2.TemplateError as error:
        raise Refused(DATA, f"{line_of(error, template)}: {error}") from None
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise Refused(DATA, f"{line_of(error, template)}: {error}") from None


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(USAGE, message)


def main(arguments):
    parser = Parser(prog="distrib render", description="Renders a Jinja2 template to a file for a cluster manager. A "
                                                       "missing value is an error.",
                    epilog="The result goes to stdout, and only if there was no error. Exit codes: 64 a wrong option, "
                           "65 a value is missing or the result is not valid, 66 a file cannot be read, 69 "
                           "python3-jinja2 or another package is missing, 74 stdout cannot be written. Example: "
                           "distrib render examples/kubernetes/statefulset.yaml.jinja --values values.yaml --check")
    parser.add_argument("template", metavar="TEMPLATE")
    parser.add_argument("--values", metavar="FILE", action="append", default=[],
                        help="a YAML or JSON file with values; a later file overrides earlier ones")
    parser.add_argument("-D", metavar="name=value", action="append", default=[], dest="defined",
                        help="one value; overrides files. A JSON number, boolean, list or object is read as such, "
                             "anything else is a string")
    parser.add_argument("--check", action="store_true", help="validate the result by the rules of its format")
    options = parser.parse_args(arguments)

    template = pathlib.Path(options.template)
    values = {}
    for path in options.values:
        values |= values_of(path)
    text = render(template, values, dict(map(definition, options.defined)))
    if options.check:
        import render_check

        for name in ("yaml", "jsonschema"):
            module(name, f"python3-{name}")
        found, said = render_check.check(template, text)
        if found:
            raise Refused(DATA, "\n  ".join([f"{template}: the result is not valid ({said}):", *found]))
        print(f"{template}: valid ({said})", file=sys.stderr)
    try:
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    except OSError as error:
        sys.stdout = None  # otherwise it would be flushed once more
        raise Refused(IO, f"stdout: {error.strerror}") from None
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        sys.exit(refused.code)
