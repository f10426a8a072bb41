// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/error.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto record_where(std::string_view path, std::uint64_t number, std::uint64_t offset) -> std::string {
  return std::string{path} + ": record " + std::to_string(number) + " at offset " + std::to_string(offset);
}

DISTRIB_DECL auto over_limit(std::uint64_t record_bytes, std::uint64_t limit) -> std::string {
  return ": " + std::to_string(record_bytes) + " bytes, the limit is " + std::to_string(limit);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
