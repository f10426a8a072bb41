// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a protobuf message could not be encoded or decoded.
enum class message_errc {
  /// The message is longer than `ProtobufCodec::max_message_bytes`. Raise that limit, or send less at once.
  too_large = 1,
  malformed,  ///< The bytes are not a message of this type: damaged, cut off, or another type. Send them again.
  incomplete,  ///< A required field (proto2) is not set. Set it before encoding; when decoding, correct the sender.
};

namespace detail {
inline constexpr ErrorText message_texts[] = {
    {message_errc::too_large, failure::exhausted,
     "the message is longer than max_message_bytes; raise that limit, or send less at once"},
    {message_errc::malformed, failure::corrupt,
     "the bytes are not a message of this type: damaged, cut off, or of another type"},
    {message_errc::incomplete, failure::invalid_argument, "a required field is not set; set it before encoding"},
};

/// Returns the category "distrib.message".
[[nodiscard]] inline auto message_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.message", message_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(message_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::message_category()};
}

}  // namespace v0
}  // namespace distrib

template <>
struct std::is_error_code_enum<distrib::message_errc> : std::true_type {};
