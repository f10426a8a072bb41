// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/control_group.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto read_setting(const std::string& path) -> std::string {
  std::error_code ec;
  std::string text = read_up_to(path, std::size_t{64} << 10, ec);
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
