# SPDX-License-Identifier: Apache-2.0
"""The rules of `render.py --check` for the formats of results.

`check(template, text)` returns a list of what is wrong, and a text that says what was checked. A file that breaks one
of the rules is refused by its cluster manager, or it is accepted and the job never starts.
"""

import json
import re
import subprocess

import render_compose
import render_kubernetes
import render_marathon


def check(template, text):
    name = template.name.removesuffix(".jinja")
    if re.search(r"\.ya?ml$", name):
        documents, found = load_yaml(text)
        if found:
            return found, "YAML"
        if any(isinstance(d, dict) and ("kind" in d or "apiVersion" in d) for d in documents):
            return render_kubernetes.check(documents)
        if len(documents) == 1 and isinstance(documents[0], dict) and "services" in documents[0]:
            return render_compose.check(documents[0])
        return [] if documents else ["it is empty"], "YAML alone: neither Kubernetes nor Compose"
    if name.endswith(".json"):
        return check_json(template, name, text)
    if re.search(r"\.(sh|bash|sbatch)$", name) or text.startswith("#!/bin/"):
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        return done.stderr.splitlines() if done.returncode else [], "syntax of a shell script"
    return [] if text.strip() else ["it is empty"], "not empty; there are no rules for this format"


def load_yaml(text):
    """The documents, without empty ones, and what is wrong. A repeated key is wrong, although PyYAML accepts it."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def mapping(loader, node):
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} occurs twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return yaml.SafeLoader.construct_mapping(loader, node, deep=True)

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        documents = [d for d in yaml.load_all(text, Loader) if d is not None]
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return [], [f"{line}{error.problem}"]
    except yaml.YAMLError as error:
        return [], [" ".join(str(error).split())]
    return documents, [f"{text!r}: YAML cannot have characters above U+FFFF in this form, as two codes of \\u"
                       for text in strings(documents) if re.search("[\ud800-\udfff]", text)]


def strings(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(key)
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def check_json(template, name, text):
    def pairs(items):
        keys = [key for key, _ in items]
        if len(set(keys)) != len(keys):
            raise ValueError(f"a key occurs twice among {', '.join(keys)}")
        return dict(items)

    try:
        document = json.loads(text, object_pairs_hook=pairs)
    except ValueError as error:
        return [str(error)], "JSON"
    found, looked = [], ["JSON"]
    schema = template.with_name(name.removesuffix(".json") + ".schema.json")
    if schema.exists():
        import jsonschema

        validator = jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
        for error in sorted(validator.iter_errors(document), key=lambda e: list(map(str, e.absolute_path))):
            found.append(f"{'.'.join(map(str, error.absolute_path)) or 'the whole document'}: {error.message}")
        looked.append(schema.name)
    if isinstance(document, dict) and "id" in document and ("apps" in document or "groups" in document):
        if not found:
            found += render_marathon.check(document)
        looked.append("rules of Marathon 1.5")
    return found, ", ".join(looked)
