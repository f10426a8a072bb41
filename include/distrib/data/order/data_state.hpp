// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/sha256.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The position of a pipeline. A pipeline over the same data with the same steps that resumes from it continues with
/// exactly the next element, also in another process or with another number of workers. A value.
struct DataState {
  /// Hash of the description of files and steps. A state fits only a pipeline with the same hash.
  std::uint64_t data = 0;
  std::uint64_t epoch = 0;  ///< Completed epochs of a stream that counts them (see `Pipeline::state`), otherwise 0.
  std::uint64_t position = 0;  ///< Elements of this epoch, or batches of all workers, that were returned before.

  /// Size of a state in a file: three u64, little endian, in the order of the members.
  static constexpr std::size_t size_bytes = 24;

  /// Returns the state as `size_bytes` bytes.
  [[nodiscard]] DISTRIB_DECL auto to_bytes() const noexcept -> std::array<std::byte, size_bytes>;

  [[nodiscard]] auto operator==(const DataState&) const noexcept -> bool = default;
};

/// Returns the state as text: "distrib-data-1 DATA EPOCH POSITION", with decimal numbers, at most 77 characters.
[[nodiscard]] inline auto to_string(const DataState& state) -> std::string {
  return "distrib-data-1 " + std::to_string(state.data) + ' ' + std::to_string(state.epoch) + ' ' +
         std::to_string(state.position);
}

/// Parses what `to_string` returns.
///
/// Errors: `ec` is `data_errc::bad_state` for any other text; the result is then empty.
[[nodiscard]] DISTRIB_DECL auto parse_data_state(std::string_view text, std::error_code& ec) -> DataState;

/// This overload throws the error as `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto parse_data_state(std::string_view text) -> DataState;

/// Parses what `DataState::to_bytes` returns.
///
/// Errors: `ec` is `data_errc::bad_state` if there are not exactly `DataState::size_bytes` bytes; the result is then
/// empty.
[[nodiscard]] DISTRIB_DECL auto parse_data_state(ByteView bytes, std::error_code& ec) noexcept -> DataState;

namespace detail {

/// Returns `DataState::data` of a description: the first 8 bytes of its SHA-256, little endian.
template <class Text> [[nodiscard]] auto data_hash(const Text& description) -> std::uint64_t {
  return load_le<std::uint64_t>(sha256(as_bytes(description)).data());
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/order/impl/data_state.ipp>
#endif
