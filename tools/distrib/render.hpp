// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tools {

/// `distrib render`: replaces this process by `python3 render.py ARGUMENTS...`. The script is
/// PREFIX/share/distrib/render.py for the command PREFIX/bin/distrib; in a build folder that is a link to the sources.
/// Returns an exit code, and only if it failed.
[[nodiscard]] auto render(const std::vector<std::string>& arguments) -> int;

}  // namespace tools
