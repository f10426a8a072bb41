// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// Returns the bytes for which `to_hex` of core/sha256.hpp returns `hex`.
inline auto from_hex(std::string_view hex) -> std::vector<std::byte> {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
  return bytes;
}

}  // namespace support
