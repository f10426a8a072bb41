// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/example/feature.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

// What `parse_example` is to make of a feature: the kinds of TensorFlow's `parse_example`, as values. Types are given
// by the kind of list: int64s, floats or bytes.
namespace distrib {
inline namespace v0 {

/// Extents of one record's values, outermost first: `{}` is one value, `{2, 3}` six. Missing until it is given.
class FeatureShape {
 public:
  FeatureShape() = default;
  FeatureShape(std::initializer_list<std::int64_t> extents) : extents_{extents} {}
  explicit FeatureShape(std::vector<std::int64_t> extents) : extents_{std::move(extents)} {}

  /// No shape at all, which is no shape of a single value.
  [[nodiscard]] static auto missing() -> FeatureShape {
    FeatureShape shape;
    shape.known_ = false;
    return shape;
  }

  [[nodiscard]] auto known() const noexcept -> bool { return known_; }
  [[nodiscard]] auto extents() const noexcept -> const std::vector<std::int64_t>& { return extents_; }

 private:
  std::vector<std::int64_t> extents_;
  bool known_ = true;
};

/// What stands in for values that a record lacks; at most one of the three is given, the one of the feature's kind.
struct FeatureDefault {
  std::vector<std::int64_t> int64s{};
  std::vector<float> floats{};
  std::vector<std::string> bytes{};
};

/// As many values in each record as `shape` says: dense, [records] + shape. A record that lacks them gets `otherwise`,
/// which has as many; without it that is an error.
struct FixedLen {
  FeatureShape shape = FeatureShape::missing();
  FeatureKind kind = FeatureKind::none;
  FeatureDefault otherwise{};
};

/// Any number of values: sparse, [records, longest]. A record that lacks it has no values.
struct VarLen {
  FeatureKind kind = FeatureKind::none;
};

/// Any number of blocks of `shape`: dense, [records, longest] + shape, where short rows are padded with `otherwise`
/// (one value; 0 or empty unless given). `allow_missing` must be said for the features of an Example; of a
/// SequenceExample, where each step is one block, it says that a record may lack the list.
struct FixedLenSequence {
  FeatureShape shape = FeatureShape::missing();
  FeatureKind kind = FeatureKind::none;
  bool allow_missing = false;
  FeatureDefault otherwise{};
};

/// Values in one feature and their coordinates in others, one for each axis, whose lengths are `sizes`: sparse,
/// [records] + sizes. They are sorted by coordinates unless they are said to be.
struct Sparse {
  std::vector<std::string> index_keys{};
  std::string value_key{};
  FeatureKind kind = FeatureKind::none;
  std::vector<std::int64_t> sizes{};
  bool already_sorted = false;
};

/// Feature `key` says where rows begin and the last one ends.
struct RowSplits {
  std::string key{};
};
/// Feature `key` says how long each row is.
struct RowLengths {
  std::string key{};
};
/// Feature `key` says where each row begins.
struct RowStarts {
  std::string key{};
};
/// Feature `key` says where each row ends.
struct RowLimits {
  std::string key{};
};
/// Feature `key` says in which row each value is.
struct ValueRowIds {
  std::string key{};
};
/// All rows have this length.
struct UniformRowLength {
  std::int64_t length = 0;
};

/// How a ragged feature is cut into rows: one of the six above.
struct RaggedPartition {
  enum class Form : std::uint8_t { splits, lengths, starts, limits, row_ids, uniform };

  RaggedPartition(RowSplits p) : form{Form::splits}, key{std::move(p.key)} {}     // NOLINT: implicit on purpose
  RaggedPartition(RowLengths p) : form{Form::lengths}, key{std::move(p.key)} {}   // NOLINT
  RaggedPartition(RowStarts p) : form{Form::starts}, key{std::move(p.key)} {}     // NOLINT
  RaggedPartition(RowLimits p) : form{Form::limits}, key{std::move(p.key)} {}     // NOLINT
  RaggedPartition(ValueRowIds p) : form{Form::row_ids}, key{std::move(p.key)} {}  // NOLINT
  RaggedPartition(UniformRowLength p) : form{Form::uniform}, length{p.length} {}  // NOLINT

  Form form;
  std::string key{};
  std::int64_t length = 0;
};

/// Values in one feature (the one it is named after unless `value_key` says another), cut by `partitions`, outermost
/// first: ragged, the records, then an axis for each partition, then the values. That they fit is always checked.
struct Ragged {
  FeatureKind kind = FeatureKind::none;
  std::string value_key{};
  std::vector<RaggedPartition> partitions{};
};

/// One of the five above.
struct FeatureSpec {
  enum class Form : std::uint8_t { fixed_len, var_len, fixed_len_sequence, sparse, ragged };

  FeatureSpec(FixedLen s)  // NOLINT: implicit on purpose
      : form{Form::fixed_len}, kind{s.kind}, shape{std::move(s.shape)}, otherwise{std::move(s.otherwise)} {}
  FeatureSpec(VarLen s) : form{Form::var_len}, kind{s.kind} {}  // NOLINT
  FeatureSpec(FixedLenSequence s)                               // NOLINT
      : form{Form::fixed_len_sequence},
        kind{s.kind},
        shape{std::move(s.shape)},
        otherwise{std::move(s.otherwise)},
        allow_missing{s.allow_missing} {}
  DISTRIB_DECL FeatureSpec(Sparse s);  // NOLINT
  FeatureSpec(Ragged s)  // NOLINT
      : form{Form::ragged}, kind{s.kind}, value_key{std::move(s.value_key)}, partitions{std::move(s.partitions)} {}

  Form form;
  FeatureKind kind;
  FeatureShape shape = FeatureShape::missing();
  FeatureDefault otherwise{};
  bool allow_missing = false;
  bool already_sorted = false;
  std::string value_key{};
  std::vector<std::string> index_keys{};
  std::vector<std::int64_t> sizes{};
  std::vector<RaggedPartition> partitions{};
};

/// A feature of the result, by name, and what it is made of.
struct NamedSpec {
  std::string name;
  FeatureSpec spec;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/impl/feature_spec.ipp>
#endif
