// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/core/rounded.hpp>

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

namespace detail {
inline auto cannot_write(const std::string& path, const std::error_code& reason) -> Error {
  const bool is_full = reason.value() == ENOSPC || reason.value() == EDQUOT;
  return {is_full ? checkpoint_errc::no_room : checkpoint_errc::cannot_write, with_reason(path, reason)};
}

/// Returns the time of the system's clock, in seconds since 1970.
inline auto seconds_now() noexcept -> double {
  ::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + opaque(1e-9 * static_cast<double>(now.tv_nsec));
}
}  // namespace detail

/// Performs one action on a file, with POSIX calls. On failure `to` is `cannot_write` or `no_room`, with the path and
/// the system's reason. Blocks. Threads: any.
DISTRIB_DECL void perform(const FileAction& action, ErrorRef to);

/// Performs a plan in order and stops at the first failure. It then removes the files that it has written and not
/// renamed, also the file for which there was no room, so that they use no disk space. A file whose write failed for
/// another reason stays. Errors: as the other overload.
DISTRIB_DECL void perform(std::span<const FileAction> plan, ErrorRef to);

/// This overload throws the error as `std::system_error` that names the file.
inline void perform(std::span<const FileAction> plan) {
  Error error;
  perform(plan, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/perform.ipp>
#endif
