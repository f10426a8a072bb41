// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/initial_name.hpp>

#include <vector>

namespace distrib {
inline namespace v0 {

/// How a training starts from a checkpoint that does not match its variables exactly.
struct InitialCheckpointOptions {
  /// True: variables and tables that the checkpoint does not have start from their initializers. False: they are an
  /// error.
  bool allow_missing = false;
  /// Under which names the checkpoint has variables and tables. A variable without an entry has the same name there.
  /// With `{{"linear/", "wide/"}, {"", "head/"}}` the variables below wide/ are stored below linear/, and those below
  /// head/ start from their initializers.
  std::vector<InitialName> names = {};
};

}  // namespace v0
}  // namespace distrib
