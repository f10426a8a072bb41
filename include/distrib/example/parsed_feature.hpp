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
/// | dense | all, row-major | `shape`: number of records, then the shape of one record |
/// | sparse | the values that exist | `shape`; `indices`: `shape.size()` coordinates of each value |
/// | ragged | all, one after another | `row_splits`, outermost first |
///
/// Values of bytes are views into the records, which must outlive the result.
struct ParsedFeature {
  /// How the values lie, and which members are used.
  enum class Form : std::uint8_t { dense, sparse, ragged };

  std::string name;  ///< Name of the result.
  Form form = Form::dense;  ///< How the values lie.
  FeatureKind kind = FeatureKind::none;  ///< Type of the values.
  std::size_t count = 0;  ///< Number of values.
  /// The values: floats, int64s or ByteViews; see `values()`.
  AlignedBuffer memory;
  std::vector<std::int64_t> shape{};  ///< For dense and sparse.
  std::vector<std::int64_t> indices{};  ///< For sparse.
  /// For ragged: element n has a 0 and then the end of each row of axis n, counted in rows of axis n + 1; the last
  /// element counts in values. Axis 0 are the records.
  std::vector<std::vector<std::int64_t>> row_splits{};
  std::vector<std::int64_t> lengths{};  ///< For dense feature lists: the number of steps of each record.
  std::shared_ptr<const void> keep_alive{};  ///< Owns the default values of bytes.

  /// Returns the values with their type T: float, std::int64_t or ByteView, as `kind` says.
  template <class T> [[nodiscard]] auto values() const noexcept -> std::span<const T> {
    return memory.as<T>().first(count);
  }
};

/// Returns the feature of this name; null if there is none.
[[nodiscard]] inline auto find_feature(std::span<const ParsedFeature> features, std::string_view name) noexcept
    -> const ParsedFeature* {
  for (const ParsedFeature& feature : features)
    if (feature.name == name) return &feature;
  return nullptr;
}

}  // namespace v0
}  // namespace distrib
