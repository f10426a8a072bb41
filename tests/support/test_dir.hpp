// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace support {

/// Returns the directory of the tests' sources, which contains the fixtures. Only one object file (test_dir.cpp)
/// depends on it, so all other object files are the same in every checkout, and ccache can reuse them.
auto test_dir() -> const std::string&;

}  // namespace support
