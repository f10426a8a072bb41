// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pwd.h>
#include <unistd.h>

#include <string>

namespace tools {

/// Returns "alice at login3", for the reports of parameter servers.
inline auto this_user() -> std::string {
  const passwd* const user = getpwuid(getuid());  // NOLINT(concurrency-mt-unsafe): there is one thread
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return (user != nullptr ? std::string{user->pw_name} : std::to_string(getuid())) + " at " + host;
}

}  // namespace tools
