// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a record does not fit a schema, or a schema does not fit its struct.
enum class example_errc {
  malformed = 1,  ///< The record is not a tf.train.Example, or SequenceExample. Check what the file contains.
  missing_feature,  ///< The record lacks a feature, or it has no kind set. Write it, or set a default (`otherwise`).
  /// A feature holds another kind of list than its member or spec. Change the member or spec, or the records.
  wrong_kind,
  /// A feature has more or fewer values than its member or spec takes. Use a span, or VarLen, for lists of any length.
  wrong_count,
  duplicate_feature,  ///< A schema names a feature twice, or binds a member twice. Name each once.
  unbound_member,  ///< A batch was asked for a member that its schema does not bind. Add it to the schema.
  bad_spec,  ///< A spec of a feature lacks something, or contradicts another spec. Correct what the message names.
  bad_index,  ///< The indices of a sparse feature do not fit its values or its size. Correct the records or the spec.
  bad_partition,  ///< A partition of a ragged feature does not fit its values. Correct the records or the spec.
  too_many_features,  ///< The records have more different names than a schema can have. Check what the file contains.
};

namespace detail {
inline constexpr ErrorText example_texts[] = {
    {example_errc::malformed, failure::corrupt,
     "the record is not a tf.train.Example, or SequenceExample: check what the file contains"},
    {example_errc::missing_feature, failure::mismatch,
     "the feature is required but could not be found: write it into every record, or give it a default"},
    {example_errc::wrong_kind, failure::mismatch,
     "a feature has another kind than the schema: correct the schema or the records"},
    {example_errc::wrong_count, failure::mismatch,
     "a feature has another number of values than the schema: correct the schema or the records, or use a list of any "
     "length"},
    {example_errc::duplicate_feature, failure::invalid_argument,
     "the schema names a feature or binds a member twice: name each once"},
    {example_errc::unbound_member, failure::invalid_argument,
     "the schema of the batch does not bind this member: add it to the schema"},
    {example_errc::bad_spec, failure::invalid_argument, "the spec of a feature is wrong: correct what is named here"},
    {example_errc::bad_index, failure::mismatch,
     "the indices of a sparse feature do not fit its values or its size: correct the records or the spec"},
    {example_errc::bad_partition, failure::mismatch,
     "a partition of a ragged feature (its row lengths, row splits, ...) does not fit its values: correct the records, "
     "or the partition in the spec of the feature"},
    {example_errc::too_many_features, failure::exhausted,
     "the records have too many different features: check what the file contains"},
};

/// The category "distrib.example".
[[nodiscard]] inline auto example_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.example", example_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(example_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::example_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::example_errc> : std::true_type {};
