// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

// Divides rows as evenly as possible. In both of TensorFlow's layouts the first shards have one row more.
class RowsInShards {
 public:
  DISTRIB_DECL RowsInShards(std::int64_t rows, std::uint32_t num_shards, std::error_code& ec) noexcept;

  RowsInShards(std::int64_t rows, std::uint32_t num_shards, std::string_view where) {
    std::error_code ec;
    *this = RowsInShards{rows, num_shards, ec};
    if (ec) throw_error(ec, where);
  }

  [[nodiscard]] auto rows() const noexcept -> std::int64_t { return rows_; }
  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t { return num_shards_; }
  [[nodiscard]] auto even() const noexcept -> std::int64_t { return rows_ / num_shards_; }
  [[nodiscard]] auto longer() const noexcept -> std::int64_t { return rows_ % num_shards_; }
  [[nodiscard]] auto rows_of(std::uint32_t shard) const noexcept -> std::int64_t {
    return even() + (shard < longer() ? 1 : 0);
  }

  [[nodiscard]] auto operator==(const RowsInShards&) const -> bool = default;

 private:
  std::int64_t rows_ = 0;
  std::uint32_t num_shards_ = 1;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sharding/detail/impl/rows_in_shards.ipp>
#endif
