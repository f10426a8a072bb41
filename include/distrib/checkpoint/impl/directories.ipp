// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/directories.hpp>

#include <distrib/core/files.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void make_directories(const std::string& path, ErrorRef to) {
  detail::ErrorOut error{to};
  std::error_code ec;
  detail::make_directories(path, ec);
  if (ec) error = detail::cannot_write(path, ec);
}

}  // namespace v0
}  // namespace distrib
