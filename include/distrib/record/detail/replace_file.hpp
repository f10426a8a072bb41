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

/// Writes `parts` to the file `path`, at once or not at all for who looks at it; not made durable. Threads and
/// processes may do so at the same time: one of them wins.
DISTRIB_DECL void replace_file(const std::string& path, std::initializer_list<ByteView> parts, std::error_code& ec);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/detail/impl/replace_file.ipp>
#endif
