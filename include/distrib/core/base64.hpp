// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>

#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns `bytes` in base64, with padding (RFC 4648, section 4).
DISTRIB_DECL auto base64(ByteView bytes) -> std::string;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/base64.ipp>
#endif
