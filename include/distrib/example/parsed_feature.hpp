// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/feature.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What `parse_example` makes of one spec: a dense, sparse or ragged tensor. A value that can be moved.
///
/// | form | `values` | and |
/// |---|---|---|
/// | dense | all, row-major | `shape`: records, then one record's |
/// | sparse | those that are there | `shape`; `indices`: `shape.size()` coordinates of each value |
/// | ragged | all, one after the other | `row_splits`, outermost first |
///
/// Bytes are views into the records, which must outlive the result.
struct ParsedFeature {
  enum class Form : std::uint8_t { dense, sparse, ragged };

  std::string name;
  Form form = Form::dense;
  FeatureKind kind = FeatureKind::none;
  std::size_t count = 0;                                ///< How many values.
  AlignedBuffer memory;                                 ///< They: floats, int64s or ByteViews; see `values`.
  std::vector<std::int64_t> shape{};                    ///< Dense and sparse.
  std::vector<std::int64_t> indices{};                  ///< Sparse.
  std::vector<std::vector<std::int64_t>> row_splits{};  ///< Ragged: the n-th says where the rows of axis n + 1 end in
      ///< the next one, beginning with 0; the last one in values.
  std::vector<std::int64_t> lengths{};  ///< Dense feature lists: steps of each record.
  std::shared_ptr<const void> keep_alive{};  ///< What default bytes lie in.

  /// The values as what they are: float, std::int64_t or ByteView, by `kind`.
  template <class T> [[nodiscard]] auto values() const noexcept -> std::span<const T> {
    return memory.as<T>().first(count);
  }
};

/// The one of this name; null: there is none.
[[nodiscard]] inline auto find_feature(std::span<const ParsedFeature> features, std::string_view name) noexcept
    -> const ParsedFeature* {
  for (const ParsedFeature& feature : features)
    if (feature.name == name) return &feature;
  return nullptr;
}

}  // namespace v0
}  // namespace distrib
