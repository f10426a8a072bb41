// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_file.hpp>
#include <distrib/remote/webhdfs.hpp>

#include <cstddef>
#include <vector>

auto main() -> int {
  distrib::HttpFile file{"http://localhost:1/nobody", {.retry = {.attempts = 1}}};
  std::vector<std::byte> bytes(10);
  distrib::Error error;
  return file.read(bytes, error) == 0 && error.code == distrib::http_errc::unreachable ? 0 : 1;
}
