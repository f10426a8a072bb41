// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/initial_name.hpp>

#include <vector>

namespace distrib {
inline namespace v0 {

/// How a training begins with the values of a checkpoint that is not quite its own.
struct InitialCheckpointOptions {
  /// Whether variables and tables that the checkpoint lacks begin as their initializers say. Else they are an error.
  bool allow_missing = false;
  /// By which names the checkpoint has variables and tables; what no entry is for has its own name there.
  /// `{{"linear/", "wide/"}, {"", "head/"}}`: those of wide/ are below linear/, those of head/ begin anew.
  std::vector<InitialName> names = {};
};

}  // namespace v0
}  // namespace distrib
