// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/example/feature.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

// What `parse_example` makes of a feature: the forms of TensorFlow's `parse_example`, as values. The type of the values
// is the kind of the list: int64s, floats or bytes.
namespace distrib {
inline namespace v0 {

/// Extents of the values of one record, outermost first: `{}` is one value, `{2, 3}` six values. A spec begins with
/// `missing`: its shape has to be set.
class FeatureShape {
 public:
  /// The shape of one value, as `{}`.
  FeatureShape() = default;
  /// Makes a shape of these extents, outermost first. They are checked when records are parsed.
  FeatureShape(std::initializer_list<std::int64_t> extents) : extents_{extents} {}
  explicit FeatureShape(std::vector<std::int64_t> extents) : extents_{std::move(extents)} {}

  /// Returns no shape at all; this is not the shape of a single value.
  [[nodiscard]] static auto missing() -> FeatureShape {
    FeatureShape shape;
    shape.known_ = false;
    return shape;
  }

  /// True unless the shape is `missing()`.
  [[nodiscard]] auto known() const noexcept -> bool { return known_; }
  /// Returns the extents; valid as long as the shape. None: a single value, or `missing()`.
  [[nodiscard]] auto extents() const noexcept -> const std::vector<std::int64_t>& { return extents_; }

 private:
  std::vector<std::int64_t> extents_;
  bool known_ = true;
};

/// The default for values that a record lacks. At most one of the three is set: the one of the feature's kind.
struct FeatureDefault {
  std::vector<std::int64_t> int64s{};  ///< For int64s.
  std::vector<float> floats{};  ///< For floats.
  std::vector<std::string> bytes{};  ///< For bytes.
};

/// As many values in each record as `shape` says: dense, [records] + shape. A record that lacks the feature gets
/// `otherwise`, which must have as many values; if it is empty, that record is an error.
struct FixedLen {
  /// Shape of the values of one record.
  FeatureShape shape = FeatureShape::missing();
  FeatureKind kind = FeatureKind::none;  ///< Type of the values.
  FeatureDefault otherwise{};  ///< What a record without the feature gets.
};

/// Any number of values: sparse, [records, longest]. A record that lacks the feature has no values.
struct VarLen {
  FeatureKind kind = FeatureKind::none;  ///< Type of the values.
};

/// Any number of blocks of `shape`: dense, [records, longest] + shape. Short rows are padded with `otherwise` (one
/// value; 0 or empty bytes if it is not set). For features of an Example `allow_missing` must be true. For lists of a
/// SequenceExample, in which each step is one block, it says that a record may lack the list.
struct FixedLenSequence {
  /// Shape of one block.
  FeatureShape shape = FeatureShape::missing();
  FeatureKind kind = FeatureKind::none;  ///< Type of the values.
  bool allow_missing = false;  ///< True: a record may lack the feature or list.
  FeatureDefault otherwise{};  ///< What short rows are padded with.
};

/// Values in one feature, and their coordinates in others, one for each axis; `sizes` are the lengths of the axes:
/// sparse, [records] + sizes. The values are sorted by their coordinates, unless `already_sorted` says that they are.
struct Sparse {
  std::vector<std::string> index_keys{};  ///< Features with the coordinates, one for each axis.
  std::string value_key{};  ///< Feature with the values.
  FeatureKind kind = FeatureKind::none;  ///< Type of the values.
  std::vector<std::int64_t> sizes{};  ///< Length of each axis.
  bool already_sorted = false;  ///< True: the values are not sorted again.
};

/// The feature `key` says where rows begin and the last one ends.
struct RowSplits {
  std::string key{};  ///< Name of that feature.
};
/// The feature `key` says how long each row is.
struct RowLengths {
  std::string key{};  ///< Name of that feature.
};
/// The feature `key` says where each row begins.
struct RowStarts {
  std::string key{};  ///< Name of that feature.
};
/// The feature `key` says where each row ends.
struct RowLimits {
  std::string key{};  ///< Name of that feature.
};
/// The feature `key` says in which row each value is.
struct ValueRowIds {
  std::string key{};  ///< Name of that feature.
};
/// All rows have this length, at least 1.
struct UniformRowLength {
  std::int64_t length = 0;  ///< Number of values or inner rows in a row.
};

/// How a ragged feature is cut into rows: one of six types, all of them in this header.
struct RaggedPartition {
  /// Which of the six types it was made from.
  enum class Form : std::uint8_t { splits, lengths, starts, limits, row_ids, uniform };

  /// Makes the partition from one of the six types.
  RaggedPartition(RowSplits p) : form{Form::splits}, key{std::move(p.key)} {}  // NOLINT: implicit on purpose
  RaggedPartition(RowLengths p) : form{Form::lengths}, key{std::move(p.key)} {}  // NOLINT
  RaggedPartition(RowStarts p) : form{Form::starts}, key{std::move(p.key)} {}  // NOLINT
  RaggedPartition(RowLimits p) : form{Form::limits}, key{std::move(p.key)} {}  // NOLINT
  RaggedPartition(ValueRowIds p) : form{Form::row_ids}, key{std::move(p.key)} {}  // NOLINT
  RaggedPartition(UniformRowLength p) : form{Form::uniform}, length{p.length} {}  // NOLINT

  Form form;  ///< Which of the six types.
  std::string key{};  ///< Name of its feature; empty for `uniform`.
  std::int64_t length = 0;  ///< Only for `uniform`.
};

/// Values in one feature (`value_key`; if it is empty, the feature with the name of the result), cut by `partitions`,
/// outermost first. The result is ragged: its axes are the records, then one for each partition, then the values. It is
/// always checked that the partitions fit.
struct Ragged {
  FeatureKind kind = FeatureKind::none;  ///< Type of the values.
  std::string value_key{};  ///< Feature with the values.
  std::vector<RaggedPartition> partitions{};  ///< Outermost first.
};

/// What to make of a feature: one of five types, all of them in this header.
struct FeatureSpec {
  /// Which of the five types it was made from.
  enum class Form : std::uint8_t { fixed_len, var_len, fixed_len_sequence, sparse, ragged };

  /// Copies the members of one of the five types. Members that the type does not have keep their defaults.
  FeatureSpec(FixedLen s)  // NOLINT: implicit on purpose
      : form{Form::fixed_len}, kind{s.kind}, shape{std::move(s.shape)}, otherwise{std::move(s.otherwise)} {}
  FeatureSpec(VarLen s) : form{Form::var_len}, kind{s.kind} {}  // NOLINT
  FeatureSpec(FixedLenSequence s)  // NOLINT
      : form{Form::fixed_len_sequence},
        kind{s.kind},
        shape{std::move(s.shape)},
        otherwise{std::move(s.otherwise)},
        allow_missing{s.allow_missing} {}
  DISTRIB_DECL FeatureSpec(Sparse s);  // NOLINT
  FeatureSpec(Ragged s)  // NOLINT
      : form{Form::ragged}, kind{s.kind}, value_key{std::move(s.value_key)}, partitions{std::move(s.partitions)} {}

  Form form;  ///< Which of the five types.
  FeatureKind kind;  ///< The members below are those of the types of this header with the same names.
  FeatureShape shape = FeatureShape::missing();
  FeatureDefault otherwise{};
  bool allow_missing = false;
  bool already_sorted = false;
  std::string value_key{};
  std::vector<std::string> index_keys{};
  std::vector<std::int64_t> sizes{};
  std::vector<RaggedPartition> partitions{};
};

/// A feature of the result: its name, and what it is made of.
struct NamedSpec {
  std::string name;  ///< Name of the result.
  FeatureSpec spec;  ///< What the result is made of.
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/impl/feature_spec.ipp>
#endif
