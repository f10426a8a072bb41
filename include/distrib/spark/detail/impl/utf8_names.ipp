// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/detail/utf8_names.hpp>

#include <distrib/core/utf8.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/sequence_example_view.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto has_utf8_names(ByteView record, SparkRecordType record_type) -> bool {
  std::error_code ignored;
  bool good = true;
  ExampleView{record, ignored}.for_each(
      [&good](const FeatureView& feature) { good = good && is_utf8(feature.name()); });
  if (record_type == SparkRecordType::sequence_example)
    SequenceExampleView{record, ignored}.for_each_list(
        [&good](const FeatureListView& list) { good = good && is_utf8(list.name()); });
  return good;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
