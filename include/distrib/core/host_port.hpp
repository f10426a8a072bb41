// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns "host:port". An IPv6 address without brackets gets them: "[::1]:80".
inline auto host_port(std::string_view host, std::string_view port) -> std::string {
  const bool brackets = host.find(':') != std::string_view::npos && !host.starts_with('[');
  std::string text{brackets ? "[" : ""};
  ((text += host) += brackets ? "]:" : ":") += port;
  return text;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
