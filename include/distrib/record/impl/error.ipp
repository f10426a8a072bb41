// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/error.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto record_where(std::string_view path, std::uint64_t number, std::uint64_t offset) -> std::string {
  return std::string{path} + ": record " + std::to_string(number) + " at offset " + std::to_string(offset);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
