// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/sequence_example_view.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL FeatureListView::FeatureListView(ByteView entry) noexcept : entry_{entry} {
  const auto count = [this](const FeatureView&) { ++size_; };
  detail::VisitSteps<decltype(count)> steps{count};
  (void)detail::read_entry(entry_, detail::most_levels - 2, steps);
  name_ = steps.name;
}

DISTRIB_DECL SequenceExampleView::SequenceExampleView(ByteView record, std::error_code& ec) noexcept : record_{record} {
  ec = {};
  if (detail::is_sequence_example(record)) return;
  record_ = {};
  ec = example_errc::malformed;
}

}  // namespace v0
}  // namespace distrib
