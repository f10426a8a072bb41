// SPDX-License-Identifier: Apache-2.0
#include "status.hpp"

#include "report.hpp"
#include "status_text.hpp"
#include "tls_directory.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/ps/server/status_page.hpp>
#include <distrib/ps/worker/ask_status.hpp>

#include <fcntl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tools {

namespace {

using Shards = std::vector<distrib::ShardStatus>;

/// Prints the status of all shards. Returns false if the reader of stdout has gone.
auto show(const Shards& before, const Shards& now, bool json) -> bool {
  std::string text;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const StatusRates rates = i < before.size() ? status_rates(before[i], now[i]) : StatusRates{};
    const StatusRates* const known = i < before.size() ? &rates : nullptr;
    text += json ? status_json(now[i], known) + "\n" : status_text(now[i], known);
  }
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

/// Writes the page. Throws `std::system_error` if it cannot.
void write_page(const Shards& shards, const std::string& path) {
  const std::string page = distrib::status_page_of(distrib::status_data(shards, {}));
  std::error_code ec;
  distrib::detail::FileDescriptor file{path, O_WRONLY | O_CREAT | O_TRUNC, ec};
  if (!ec) file.write(distrib::as_bytes(page), ec);
  std::error_code closing;
  file.close(closing);
  if (ec || closing) distrib::throw_error(ec ? ec : closing, path);
}

}  // namespace

auto status(const StatusOptions& options) -> int try {
  const distrib::Address server = distrib::Address::parse(options.server);
  distrib::AskOptions how;
  how.within = std::chrono::milliseconds{static_cast<std::int64_t>(options.within * 1000)};
  how.tls = tls_of(options.tls);
  if (!options.secret_file.empty()) how.secret = distrib::SharedSecret::from_file(options.secret_file);
  Shards before;
  while (true) {
    Shards now = distrib::ask_status(server, how);
    if (!options.html.empty()) return write_page(now, options.html), exit_good;
    if (!show(before, now, options.json)) return exit_io;
    if (!options.watch) return exit_good;
    before = std::move(now);
    std::this_thread::sleep_for(std::chrono::seconds{1});
  }
} catch (const std::system_error& error) {
  Report report{options.json};
  report.failure(distrib::error_of(error));
  return report.finish();
}

}  // namespace tools
