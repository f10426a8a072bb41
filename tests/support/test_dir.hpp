// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace support {

/// Where the sources of the tests lie; fixtures are beneath. One object alone knows it (test_dir.cpp), so that all others
/// are the same for every checkout and ccache has them to give.
auto test_dir() -> const std::string&;

}  // namespace support
