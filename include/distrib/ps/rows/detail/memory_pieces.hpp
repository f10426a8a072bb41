// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/rows/mapped_memory.hpp>
#include <distrib/ps/rows/memory_budget.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Zeroed memory in pieces, several to a huge page. The pieces of the first 8 MiB have mappings of their own, so that
/// little memory stays little. After that pieces of 32 KiB to 2 MiB are cut from mappings of 2 MiB, first fit, which
/// are kept for other pieces. Where in them a piece lies is a function of the calls. Movable; pieces keep their
/// addresses. Threads: one at a time.
class MemoryPieces {
 public:
  /// A piece. Whoever took it gives it back; all end with their `MemoryPieces`.
  struct Piece {
    std::byte* data = nullptr;
    std::size_t size_bytes = 0;
    std::size_t mapping = 0;
  };

  /// Takes no memory yet. The budget must outlive it.
  explicit MemoryPieces(MemoryBudget& budget) noexcept : budget_{&budget} {}

  /// On failure there is none and `ec` is `ps_errc::budget_exceeded` or what the system says.
  [[nodiscard]] auto take(std::size_t size_bytes, std::error_code& ec) -> Piece {
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

  void give_back(const Piece& piece) noexcept {
    Mapping& mapping = mappings_[piece.mapping];
    if (mapping.memory.size() == huge_page_bytes) {
      const auto first = static_cast<std::size_t>(piece.data - mapping.memory.data()) / unit_bytes;
      mapping.used &= ~(units_of(piece.size_bytes) << first);
      return;
    }
    bytes_ -= mapping.memory.size();
    mapping.memory = {};
  }

  /// Of all mappings.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return bytes_; }

 private:
  static constexpr std::size_t uncut_bytes = std::size_t{8} << 20;
  static constexpr std::size_t unit_bytes = huge_page_bytes / 64;
  static constexpr std::uint64_t all_units = ~std::uint64_t{0};

  struct Mapping {
    MappedMemory memory;
    std::uint64_t used;     // a bit for each unit; all of a mapping that is one piece
    std::uint64_t touched;  // units that were used before: no longer zeros
  };

  [[nodiscard]] static auto units_of(std::size_t size_bytes) noexcept -> std::uint64_t {
    return all_units >> (64 - (size_bytes + unit_bytes - 1) / unit_bytes);
  }
  /// Where the first `length` ones begin, 64 when there are no so many side by side.
  [[nodiscard]] static auto first_run(std::uint64_t bits, unsigned length) noexcept -> int {
    for (unsigned n = 1; n < length && bits != 0; ++n) bits &= bits >> 1;
    return std::countr_zero(bits);
  }

  /// A new mapping, of which the piece takes the first `units`.
  auto add(std::size_t mapped_bytes, std::size_t size_bytes, Pages pages, std::uint64_t units, std::error_code& ec)
      -> Piece {
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

  MemoryBudget* budget_;
  std::vector<Mapping> mappings_;
  std::size_t bytes_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
