// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/detail/replace_file.hpp>

#include <distrib/core/files.hpp>

#include <cstdio>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void replace_file(const std::string& path, std::initializer_list<ByteView> parts, std::error_code& ec) {
  auto [temporary, out] = create_hidden_file(path, ec);
  if (ec) return;
  for (const ByteView part : parts)
    if (!ec) out.write(part, ec);
  std::error_code closing;
  out.close(closing);
  if (!ec) ec = closing;
  if (!ec && std::rename(temporary.c_str(), path.c_str()) != 0) ec = last_os_error();
  if (ec) std::remove(temporary.c_str());
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
