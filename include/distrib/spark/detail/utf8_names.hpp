// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/spark/spark_type.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

/// True if all names of features and feature lists in a well-formed record are UTF-8. The protobuf library of the
/// connector refuses a record with other names.
[[nodiscard]] DISTRIB_DECL auto has_utf8_names(ByteView record, SparkRecordType record_type) -> bool;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/detail/impl/utf8_names.ipp>
#endif
