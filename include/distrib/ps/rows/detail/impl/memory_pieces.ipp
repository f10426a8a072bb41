// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/detail/memory_pieces.hpp>

#include <distrib/ps/job/error.hpp>

#include <new>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto MemoryPieces::take(std::size_t size_bytes, std::error_code& ec) -> Piece {
  ec.clear();
  if (bytes_ < uncut_bytes || size_bytes < unit_bytes || size_bytes > huge_page_bytes)
    return add(size_bytes, size_bytes, Pages::filled, all_units, ec);
  const std::uint64_t units = units_of(size_bytes);
  for (std::size_t number = 0; number < mappings_.size(); ++number) {
    Mapping& mapping = mappings_[number];
    const int first = first_run(~mapping.used, static_cast<unsigned>(std::popcount(units)));
    if (first == 64) continue;
    std::byte* const data = mapping.memory.data() + static_cast<std::size_t>(first) * unit_bytes;
    if ((mapping.touched & units << first) != 0) std::memset(data, 0, size_bytes);
    mapping.used |= units << first;
    mapping.touched |= units << first;
    return {data, size_bytes, number};
  }
  return add(huge_page_bytes, size_bytes, Pages::huge, units, ec);
}

DISTRIB_DECL void MemoryPieces::give_back(const Piece& piece) noexcept {
  Mapping& mapping = mappings_[piece.mapping];
  if (mapping.memory.size() == huge_page_bytes) {
    const auto first = static_cast<std::size_t>(piece.data - mapping.memory.data()) / unit_bytes;
    mapping.used &= ~(units_of(piece.size_bytes) << first);
    return;
  }
  bytes_ -= mapping.memory.size();
  mapping.memory = {};
}

DISTRIB_DECL auto MemoryPieces::add(std::size_t mapped_bytes, std::size_t size_bytes, Pages pages, std::uint64_t units,
                                    std::error_code& ec) -> Piece {
  MappedMemory memory{mapped_bytes, pages, *budget_, ec};
  if (ec) return {};
  const Piece piece{memory.data(), size_bytes, mappings_.size()};
  try {
    mappings_.push_back({std::move(memory), units, units});
  } catch (const std::bad_alloc&) {
    ec = ps_errc::budget_exceeded;
    return {};
  }
  bytes_ += mappings_.back().memory.size();
  return piece;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
