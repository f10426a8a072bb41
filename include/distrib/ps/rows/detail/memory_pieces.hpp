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
  [[nodiscard]] DISTRIB_DECL auto take(std::size_t size_bytes, std::error_code& ec) -> Piece;

  DISTRIB_DECL void give_back(const Piece& piece) noexcept;

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
