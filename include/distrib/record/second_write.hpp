// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/object_store.hpp>

#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Writes the object `key` twice, only if it is not there. Returns true if the store refuses the second write, so that
/// `put_if_absent` decides which of several processes was first. There are stores that ignore conditions. The object
/// stays, and does no harm.
///
/// Errors: those of the store. The result is then false.
template <ObjectWriter Store>
[[nodiscard]] auto refuses_second_write(Store& store, const std::string& key, Error& error) -> bool {
  const std::string text = "this store must not write this object twice\n";
  store.put_if_absent(key, as_bytes(text), error);
  if (error && error.code != failure::mismatch) return false;
  error = {};
  store.put_if_absent(key, as_bytes(text), error);
  if (error && error.code != failure::mismatch) return false;
  const bool is_refused = static_cast<bool>(error);
  error = {};
  return is_refused;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
