// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>

#include <cstddef>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Unpacks one Snappy block (google/snappy, format_description.txt): the length as a varint, then literals and copies
/// of earlier bytes. Replaces the contents of `to`. Returns false if `packed` is damaged; `to` is then unspecified.
/// Memory: at most 32 times `packed`.
[[nodiscard]] DISTRIB_DECL auto unpack_snappy(ByteView packed, std::vector<std::byte>& to) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/snappy.ipp>
#endif
