// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto error_of(const std::system_error& thrown) -> Error {
  if (const auto* const ours = dynamic_cast<const ThrownError*>(&thrown)) return ours->error();
  std::string_view where = thrown.what();
  const std::string reason = ": " + thrown.code().message();
  if (where.ends_with(reason)) where.remove_suffix(reason.size());
  return {thrown.code(), std::string{where}};
}

}  // namespace v0
}  // namespace distrib
