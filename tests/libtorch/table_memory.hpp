// SPDX-License-Identifier: Apache-2.0
// Rows of tables in memory, as a contribution has them: row r has the numbers r * dim, r * dim + 1, ...
#pragma once

#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace support {

struct TableMemory {
  // For each table the number of rows and their dim, and the numbers of the rows that are looked up.
  TableMemory(const std::vector<std::pair<std::size_t, std::size_t>>& sizes,
              std::vector<std::vector<std::int64_t>> index)
      : index_{std::move(index)}, values{list_of(sizes)}, gradients{values.variables()} {
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      const auto [count, dim] = sizes[t];
      values.rows(t).resize(count, dim);
      gradients.rows(t).resize(count, dim);
      std::iota(values.rows(t).data(), values.rows(t).data() + count * dim, 0.0F);
      values.set_index(t, index_[t]);
    }
    gradients.zero();
  }

  [[nodiscard]] auto gradient(std::size_t table) -> std::vector<float> {
    const std::span<std::byte> bytes = gradients.rows(table).bytes();
    return {gradients.rows(table).data(), gradients.rows(table).data() + bytes.size() / sizeof(float)};
  }

 private:
  static auto list_of(const std::vector<std::pair<std::size_t, std::size_t>>& sizes) -> distrib::RuntimeVariables {
    std::vector<distrib::TableInfo> tables;
    for (std::size_t t = 0; t < sizes.size(); ++t)
      tables.push_back({.name = "table" + std::to_string(t), .dim = static_cast<std::uint32_t>(sizes[t].second)});
    return distrib::RuntimeVariables{{}, tables};
  }

  std::vector<std::vector<std::int64_t>> index_;

 public:
  distrib::RuntimeValues values;
  distrib::RuntimeGradients gradients;
};

}  // namespace support
