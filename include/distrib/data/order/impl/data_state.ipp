// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/order/data_state.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/data/order/error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto parse_data_state(std::string_view text, std::error_code& ec) -> DataState {
  ec = data_errc::bad_state;
  if (detail::cut_before(text, ' ') != "distrib-data-1") return {};
  const auto data = detail::parse_shortest<std::uint64_t>(detail::cut_before(text, ' '));
  const auto epoch = detail::parse_shortest<std::uint64_t>(detail::cut_before(text, ' '));
  const auto position = detail::parse_shortest<std::uint64_t>(text);
  if (!data || !epoch || !position) return {};
  ec.clear();
  return {*data, *epoch, *position};
}

DISTRIB_DECL auto parse_data_state(std::string_view text) -> DataState {
  std::error_code ec;
  const DataState state = parse_data_state(text, ec);
  if (ec) throw_error(ec, '"' + std::string{text.substr(0, 100)} + '"');
  return state;
}

DISTRIB_DECL auto DataState::to_bytes() const noexcept -> std::array<std::byte, size_bytes> {
  std::array<std::byte, size_bytes> bytes;
  store_le(bytes.data(), data);
  store_le(bytes.data() + 8, epoch);
  store_le(bytes.data() + 16, position);
  return bytes;
}

DISTRIB_DECL auto parse_data_state(ByteView bytes, std::error_code& ec) noexcept -> DataState {
  ec.clear();
  if (bytes.size() == DataState::size_bytes)
    return {load_le<std::uint64_t>(bytes.data()), load_le<std::uint64_t>(bytes.data() + 8),
            load_le<std::uint64_t>(bytes.data() + 16)};
  ec = data_errc::bad_state;
  return {};
}

}  // namespace v0
}  // namespace distrib
