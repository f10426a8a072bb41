// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <unistd.h>

#include <string>

namespace distrib {
inline namespace v0 {

/// Makes the directory `path`, and the directories above it that do not exist, durably. A directory that exists already
/// is no failure. Errors: `checkpoint_errc::cannot_write` or `no_room`, with the path and the system's reason.
DISTRIB_DECL void make_directories(const std::string& path, ErrorRef to);

/// Makes the directory `path` as `make_directories` does. Also fails, with `checkpoint_errc::cannot_write`, if this
/// process may not write files there.
inline void make_writable_directory(const std::string& path, ErrorRef to) {
  detail::ErrorOut error{to};
  make_directories(path, error);
  if (!error && ::access(path.c_str(), W_OK) != 0) error = detail::cannot_write(path, detail::last_os_error());
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/directories.ipp>
#endif
