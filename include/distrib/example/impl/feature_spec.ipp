// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/feature_spec.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL FeatureSpec::FeatureSpec(Sparse s)
    : form{Form::sparse},
      kind{s.kind},
      already_sorted{s.already_sorted},
      value_key{std::move(s.value_key)},
      index_keys{std::move(s.index_keys)},
      sizes{std::move(s.sizes)} {}

}  // namespace v0
}  // namespace distrib
