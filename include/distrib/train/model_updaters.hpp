// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/any_updater.hpp>

#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The updaters that a model brings for some of its variables and tables, each with the whole name of its variable. If
/// a name occurs twice, the later entry counts. See `Model`.
using ModelUpdaters = std::vector<std::pair<std::string, AnyUpdater>>;

}  // namespace v0
}  // namespace distrib
