# SPDX-License-Identifier: Apache-2.0
"""Which headers are public: a facade includes them, as <distrib/record.hpp> includes record/frame.hpp. A header of an
optional component is public too where the facade of its room cannot include it."""

import re


def optional_headers(cmake):
    """The pattern of the headers of each optional component, by path below include/distrib; from one CMake file."""
    text = cmake.read_text() if cmake.exists() else ""
    return {component: re.compile(pattern)
            for component, pattern in re.findall(r'^set\(distrib_(\w+)_headers "([^"]+)"\)$', text, re.MULTILINE)}


def exported(root):
    """The headers that each facade includes, without other facades."""
    return {path.name: [name for name in re.findall(r"^#include <distrib/([^>]+)>$", path.read_text(), re.MULTILINE)
                        if "/" in name or name == "version.hpp"]
            for path in sorted((root / "include/distrib").glob("*.hpp")) if path.name != "src.hpp"}


def public_headers(root):
    patterns = optional_headers(root / "cmake/DistribComponents.cmake").values()
    names = {name for found in exported(root).values() for name in found}
    for path in (root / "include/distrib").rglob("*.hpp"):
        name = str(path.relative_to(root / "include/distrib"))
        facade = name.split("/")[0] + ".hpp"
        if "/detail/" not in name and any(p.match(name) for p in patterns) and not any(p.match(facade) for p in patterns):
            names.add(name)
    return sorted(names)
