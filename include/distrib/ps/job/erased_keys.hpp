// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/step.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Keys of a table that go after a step, because someone has asked for that: each is then one that was never seen. An
/// entry of a shard's log (`RankFile`). A value.
struct ErasedKeys {
  Step after = 0;  ///< They go after the update of this step, and before its values are told.
  std::string table;
  std::vector<std::uint64_t> keys;  ///< Ascending, at least one.

  [[nodiscard]] auto operator<=>(const ErasedKeys&) const = default;
};

/// Most keys that one call asks a shard to erase.
inline constexpr std::size_t max_erased_at_once = std::size_t{1} << 16;
/// Most keys in the log of a shard. No more are taken; 2 MiB of file.
inline constexpr std::size_t max_erased_keys = std::size_t{1} << 18;

/// Writes an entry as the message `field` of `head`. Its fields are 1: `after`; 2: `table`; 3: `keys`, packed, 8 bytes
/// each.
DISTRIB_DECL void encode_erased_keys(WireWriter& head, std::uint32_t field, const ErasedKeys& entry);

/// Reads what `encode_erased_keys` wrote. Empty if the bytes do not decode, if there is no key, or if keys do not
/// ascend.
[[nodiscard]] DISTRIB_DECL auto decode_erased_keys(ByteView bytes) -> std::optional<ErasedKeys>;

/// Returns an entry as a line without its end: "after 57 table users keys 4711,4712".
[[nodiscard]] DISTRIB_DECL auto to_text(const ErasedKeys& entry) -> std::string;

/// Reads lines of entries; empty lines do not count.
///
/// Errors: `ps_errc::not_erasable`, with the number of the line. The result is empty then.
[[nodiscard]] DISTRIB_DECL auto parse_erased_keys(std::string_view text, ErrorRef to) -> std::vector<ErasedKeys>;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto parse_erased_keys(std::string_view text) -> std::vector<ErasedKeys> {
  Error error;
  return detail::or_throw(parse_erased_keys(text, error), error);
}

namespace detail {

/// Writes keys as the field `field` of `head`, packed, 8 bytes each.
DISTRIB_DECL void encode_keys(WireWriter& head, std::uint32_t field, const std::vector<std::uint64_t>& keys);
/// Reads them. False: the bytes are not whole keys.
[[nodiscard]] DISTRIB_DECL auto decode_keys(ByteView packed, std::vector<std::uint64_t>& keys) -> bool;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/erased_keys.ipp>
#endif
