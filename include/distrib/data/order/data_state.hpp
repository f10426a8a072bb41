// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/data/order/error.hpp>

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

  [[nodiscard]] auto operator==(const DataState&) const noexcept -> bool = default;
};

/// Bytes of a state in a file: three u64, little endian, in the order of the members.
inline constexpr std::size_t data_state_bytes = 24;

/// "distrib-data-1 DATA EPOCH POSITION", decimal, at most 77 characters.
template <class State = DataState> [[nodiscard]] auto to_string(const DataState& state) -> std::string {
  return "distrib-data-1 " + std::to_string(state.data) + ' ' + std::to_string(state.epoch) + ' ' +
         std::to_string(state.position);
}

/// The opposite of `to_string`. A failure goes to `ec`: `data_errc::bad_state`.
template <class State = DataState>
[[nodiscard]] auto parse_data_state(std::string_view text, std::error_code& ec) -> State {
  ec = data_errc::bad_state;
  if (detail::cut_before(text, ' ') != "distrib-data-1") return {};
  const auto data = detail::parse_shortest<std::uint64_t>(detail::cut_before(text, ' '));
  const auto epoch = detail::parse_shortest<std::uint64_t>(detail::cut_before(text, ' '));
  const auto position = detail::parse_shortest<std::uint64_t>(text);
  if (!data || !epoch || !position) return {};
  ec.clear();
  return {*data, *epoch, *position};
}

/// The same; a failure is thrown as `std::system_error`.
template <class State = DataState> [[nodiscard]] auto parse_data_state(std::string_view text) -> State {
  std::error_code ec;
  const State state = parse_data_state<State>(text, ec);
  if (ec) throw_error(ec, '"' + std::string{text.substr(0, 100)} + '"');
  return state;
}

/// A state as `data_state_bytes` bytes.
[[nodiscard]] inline auto to_bytes(const DataState& state) noexcept -> std::array<std::byte, data_state_bytes> {
  std::array<std::byte, data_state_bytes> bytes;
  store_le(bytes.data(), state.data);
  store_le(bytes.data() + 8, state.epoch);
  store_le(bytes.data() + 16, state.position);
  return bytes;
}

/// The opposite of `to_bytes`. A failure goes to `ec`: `data_errc::bad_state`, when there are fewer or more bytes.
template <class State = DataState>
[[nodiscard]] auto parse_data_state(ByteView bytes, std::error_code& ec) noexcept -> State {
  ec.clear();
  if (bytes.size() == data_state_bytes)
    return {load_le<std::uint64_t>(bytes.data()), load_le<std::uint64_t>(bytes.data() + 8),
            load_le<std::uint64_t>(bytes.data() + 16)};
  ec = data_errc::bad_state;
  return {};
}

namespace detail {

/// `DataState::data` of a description.
template <class Text> [[nodiscard]] auto data_hash(const Text& description) -> std::uint64_t {
  return load_le<std::uint64_t>(sha256(as_bytes(description)).data());
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
