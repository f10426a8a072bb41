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

/// Where a pipeline stands, to go on from exactly there: in another process, with another number of workers. A value.
struct DataState {
  std::uint64_t data = 0;      ///< Hash of the description of files and steps; a state fits no others.
  std::uint64_t epoch = 0;     ///< Passes of a stream that are over; 0 where batches have numbers.
  std::uint64_t position = 0;  ///< Elements of this epoch, or batches, that were given out.

  /// Bytes of a state in a file: three u64, little endian, in the order of the members.
  static constexpr std::size_t size_bytes = 24;

  /// The state as so many bytes.
  [[nodiscard]] DISTRIB_DECL auto to_bytes() const noexcept -> std::array<std::byte, size_bytes>;

  [[nodiscard]] auto operator==(const DataState&) const noexcept -> bool = default;
};

/// "distrib-data-1 DATA EPOCH POSITION", decimal, at most 77 characters.
[[nodiscard]] inline auto to_string(const DataState& state) -> std::string {
  return "distrib-data-1 " + std::to_string(state.data) + ' ' + std::to_string(state.epoch) + ' ' +
         std::to_string(state.position);
}

/// The opposite of `to_string`. A failure goes to `ec`: `data_errc::bad_state`.
[[nodiscard]] DISTRIB_DECL auto parse_data_state(std::string_view text, std::error_code& ec) -> DataState;

/// The same; a failure is thrown as `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto parse_data_state(std::string_view text) -> DataState;

/// The opposite of `DataState::to_bytes`. A failure goes to `ec`: `data_errc::bad_state`, when there are fewer or more bytes.
[[nodiscard]] DISTRIB_DECL auto parse_data_state(ByteView bytes, std::error_code& ec) noexcept -> DataState;

namespace detail {

/// `DataState::data` of a description.
template <class Text> [[nodiscard]] auto data_hash(const Text& description) -> std::uint64_t {
  return load_le<std::uint64_t>(sha256(as_bytes(description)).data());
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/order/impl/data_state.ipp>
#endif
