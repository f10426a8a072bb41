// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>

#include <initializer_list>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Writes `parts`, one after another, to the file `path`. Other processes see either the old file or the whole new one.
/// Does not fsync. Several threads and processes may do this at the same time; one of them wins. On failure sets `ec`
/// and leaves the old file as it was.
DISTRIB_DECL void replace_file(const std::string& path, std::initializer_list<ByteView> parts, std::error_code& ec);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/detail/impl/replace_file.ipp>
#endif
