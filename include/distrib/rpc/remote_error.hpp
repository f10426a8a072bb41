// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/error_categories.hpp>

#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

namespace detail {

struct RemoteCategory final : std::error_category {
  auto name() const noexcept -> const char* override { return "distrib.remote"; }
  auto message(int value) const -> std::string override { return failure_category().message(value) + " (at the peer)"; }
  auto default_error_condition(int value) const noexcept -> std::error_condition override {
    return {value, failure_category()};
  }
};

inline constexpr failure conditions[] = {
    failure::invalid_argument, failure::not_found,   failure::corrupt, failure::mismatch,  failure::unsupported,
    failure::exhausted,        failure::unavailable, failure::timeout, failure::cancelled, failure::io};

/// Returns the shared condition that a code is equal to; `failure::io` if there is none.
inline auto condition_of(const std::error_code& code) noexcept -> failure {
  for (const failure condition : conditions)
    if (code == make_error_condition(condition)) return condition;
  return failure::io;
}

}  // namespace detail

/// Returns the category "distrib.remote", for errors of a peer whose category is not known here. The value of such an
/// error is its `failure`.
[[nodiscard]] inline auto remote_category() noexcept -> const std::error_category& {
  static const detail::RemoteCategory category;
  return category;
}

/// Writes the head of an error frame: 1 the category's name, 2 the value, 3 the shared condition, 4 a text for readers.
DISTRIB_DECL void encode_error(WireWriter& head, const std::error_code& code, std::string_view where);

/// Reads the head of an error frame. `categories`: the categories that are known besides "distrib.rpc". An error of an
/// unknown category becomes a code of `remote_category()` with the same condition; the name of its category and its
/// value are appended to the text. Returns `rpc_errc::bad_message` if the head cannot be decoded, if its value is 0, or
/// if neither its category nor its condition is known.
[[nodiscard]] DISTRIB_DECL auto decode_error(ByteView head, ErrorCategories categories) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/remote_error.ipp>
#endif
