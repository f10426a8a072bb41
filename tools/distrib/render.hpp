// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tools {

/// `distrib render`: becomes `python3 render.py ARGUMENTS...`. The script is PREFIX/share/distrib/render.py beside the
/// command's PREFIX/bin, else that of the sources which the command was built from. Returns only when it could not.
[[nodiscard]] auto render(const std::vector<std::string>& arguments) -> int;

}  // namespace tools
