// SPDX-License-Identifier: Apache-2.0
#include "support/test_dir.hpp"

namespace support {

auto test_dir() -> const std::string& {
  static const std::string path = DISTRIB_TEST_DIR;
  return path;
}

}  // namespace support
