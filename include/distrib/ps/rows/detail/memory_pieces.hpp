// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/rows/mapped_memory.hpp>
#include <distrib/ps/rows/memory_budget.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Zeroed memory in pieces; several pieces share a huge page. Pieces of the first 8 MiB have mappings of their own, so
/// that a small table stays small. After that, pieces of 32 KiB to 2 MiB are cut from mappings of 2 MiB, first fit;
/// these mappings are kept for later pieces. The position of a piece in them is a function of the calls. Movable:
/// pieces keep their addresses.
///
/// Threads: one at a time.
class MemoryPieces {
 public:
  /// A piece of memory. Return it with `give_back`; all pieces end with their `MemoryPieces`.
  struct Piece {
    std::byte* data = nullptr;  // null: no memory
    std::size_t size_bytes = 0;
    std::size_t mapping = 0;  // index of its mapping
  };

  /// Takes no memory yet. The budget must outlive it.
  explicit MemoryPieces(MemoryBudget& budget) noexcept : budget_{&budget} {}

  /// Returns a piece. If there is no memory, returns an empty piece and sets `ec` to `ps_errc::budget_exceeded` or to
  /// an error of the operating system.
  [[nodiscard]] DISTRIB_DECL auto take(std::size_t size_bytes, std::error_code& ec) -> Piece;

  /// Frees a piece that `take` returned.
  DISTRIB_DECL void give_back(const Piece& piece) noexcept;

  /// Memory of all mappings.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return bytes_; }

 private:
  static constexpr std::size_t uncut_bytes = std::size_t{8} << 20;
  static constexpr std::size_t unit_bytes = huge_page_bytes / 64;
  static constexpr std::uint64_t all_units = ~std::uint64_t{0};

  struct Mapping {
    MappedMemory memory;
    std::uint64_t used;  // a bit for each unit; all bits if the mapping is one piece
    std::uint64_t touched;  // units that were used before, so that they are no longer zeros
  };

  [[nodiscard]] static auto units_of(std::size_t size_bytes) noexcept -> std::uint64_t {
    return all_units >> (64 - (size_bytes + unit_bytes - 1) / unit_bytes);
  }
  /// Position of the first run of `length` one bits; 64 if there is none.
  [[nodiscard]] static auto first_run(std::uint64_t bits, unsigned length) noexcept -> int {
    for (unsigned n = 1; n < length && bits != 0; ++n) bits &= bits >> 1;
    return std::countr_zero(bits);
  }

  /// Makes a new mapping, whose first `units` become the piece.
  DISTRIB_DECL auto add(std::size_t mapped_bytes, std::size_t size_bytes, Pages pages, std::uint64_t units,
                        std::error_code& ec) -> Piece;

  MemoryBudget* budget_;
  std::vector<Mapping> mappings_;
  std::size_t bytes_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/detail/impl/memory_pieces.ipp>
#endif
