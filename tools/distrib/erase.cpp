// SPDX-License-Identifier: Apache-2.0
#include "erase.hpp"

#include "report.hpp"
#include "this_user.hpp"
#include "tls_directory.hpp"

#include <distrib/core/error.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/worker/erase_keys.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tools {

namespace {

/// Reads a key: from 0 to 2^64 - 1, or a negative number of 64 bits, which is the key with these bits.
auto key_in(std::string_view text) -> std::optional<std::uint64_t> {
  const auto whole = [text](auto number) -> std::optional<std::uint64_t> {
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return static_cast<std::uint64_t>(number);
  };
  return text.starts_with('-') ? whole(std::int64_t{0}) : whole(std::uint64_t{0});
}

/// Reads the keys of the command line and of the file. On wrong usage reports it, and returns none.
auto keys_of(const EraseOptions& options, Report& report) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> keys;
  const auto take = [&](const std::string& where, const std::string& text) {
    const std::optional<std::uint64_t> key = key_in(text);
    if (key) keys.push_back(*key);
    else report.refuse(where + text, "give keys as whole numbers of 64 bits");
    return key.has_value();
  };
  for (const std::string& text : options.keys)
    if (!take("key ", text)) return {};
  if (options.keys_from.empty()) return keys;
  std::ifstream file;
  if (options.keys_from != "-") file.open(options.keys_from);
  std::istream& lines = options.keys_from == "-" ? std::cin : file;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number)
    if (!line.empty() && !take(options.keys_from + ", line " + std::to_string(number) + ": ", line)) return {};
  if (!lines.eof()) report.failure({std::make_error_code(std::errc::io_error), options.keys_from});
  return lines.eof() ? keys : std::vector<std::uint64_t>{};
}

/// Prints an entry, in the form that `parse_erased_keys` reads.
void show(const distrib::ErasedKeys& entry, Report& report) {
  if (!report.json()) return report.line(to_text(entry));
  report.line(distrib::JsonObject{}
                  .add("after", entry.after)
                  .add("table", entry.table)
                  .add("keys", static_cast<std::uint64_t>(entry.keys.size()))
                  .text());
}

}  // namespace

auto erase(const EraseOptions& options) -> int {
  Report report{options.json};
  try {
    const std::vector<std::uint64_t> keys = keys_of(options, report);
    if (keys.empty()) {
      if (report.finish() == 0) report.refuse("keys", "name at least one, or a file of keys by --keys-from");
      return report.finish();
    }
    std::vector<distrib::Address> servers;
    for (const std::string& server : options.servers) servers.push_back(distrib::Address::parse(server));
    distrib::AskOptions how;
    how.within = std::chrono::milliseconds{static_cast<std::int64_t>(options.within * 1000)};
    how.tls = tls_of(options.tls);
    how.who = this_user();
    if (!options.secret_file.empty()) how.secret = distrib::SharedSecret::from_file(options.secret_file);
    distrib::Error failed;
    const distrib::KeysErased erased = distrib::erase_keys(servers, options.table, keys, how, failed);
    for (const distrib::ErasedKeys& entry : erased.entries) show(entry, report);
    Report::note(std::to_string(erased.keys()) + " keys are in the logs of " + std::to_string(erased.shards) +
                 " shards" + (failed ? "; ask again for all of them: erasing a key twice does no harm" : ""));
    if (failed) report.failure(failed);
  } catch (const std::system_error& error) {
    report.failure(distrib::error_of(error));
  }
  return report.finish();
}

}  // namespace tools
