// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/example_builder.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/ranged_file.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ranged {

/// What a server of files was asked.
struct Server {
  std::map<std::string, std::string> files;
  std::mutex mutex;
  std::vector<std::pair<std::uint64_t, std::size_t>> asked;  ///< First byte and bytes of each request.
  std::atomic<std::uint64_t> held = 0;  ///< Bytes that are being read now.
  std::atomic<std::uint64_t> fails_at = UINT64_MAX;  ///< A request that has this byte fails, once.
  std::atomic<std::size_t> fails_request = SIZE_MAX;  ///< The request with this number in `asked` fails.
  std::string version = "\"1\"";

  auto requests() -> std::size_t {
    const std::lock_guard lock{mutex};
    return asked.size();
  }
  auto bytes() -> std::size_t {
    const std::lock_guard lock{mutex};
    std::size_t sum = 0;
    for (const auto& [first, count] : asked) sum += count;
    return sum;
  }
  void forget() {
    const std::lock_guard lock{mutex};
    asked.clear();
  }
};

struct WholeFile {
  std::string bytes;
  std::size_t at = 0;
  auto read(std::span<std::byte> to, distrib::Error&) -> std::size_t {
    const std::size_t count = std::min(to.size(), bytes.size() - at);
    if (count != 0) std::memcpy(to.data(), bytes.data() + at, count);
    at += count;
    return count;
  }
};

/// Files of a `Server`: a model of `RangedFiles`.
struct Files {
  std::shared_ptr<Server> server = std::make_shared<Server>();
  std::size_t piece_bytes = 4096;
  std::size_t pieces_ahead = 4;
  distrib::IoPool* pool = nullptr;

  auto name() const -> std::string { return "files"; }
  auto find(distrib::Error&) const -> std::vector<std::string> {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : server->files) names.push_back(name);
    return names;
  }
  auto open(const std::string& name) const -> WholeFile {
    const auto found = server->files.find(name);
    return {found == server->files.end() ? std::string{} : found->second};
  }
  auto ranged(const std::string& name, distrib::Error& error) const -> std::optional<distrib::RangedFile> {
    error = {};
    if (!server->files.contains(name)) {
      error = {std::make_error_code(std::errc::no_such_file_or_directory), name};
      return std::nullopt;
    }
    distrib::RangedFile file;
    file.bytes = server->files.at(name).size();
    file.version = server->version;
    file.piece_bytes = piece_bytes;
    file.pieces_ahead = pieces_ahead;
    file.read = [from = server, name](std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>&,
                                      distrib::Error& failed) {
      failed = {};
      const std::lock_guard lock{from->mutex};
      from->asked.emplace_back(first, to.size());
      const bool fails = from->asked.size() == from->fails_request + 1;
      if (fails || (from->fails_at >= first && from->fails_at < first + to.size())) {
        failed = {std::make_error_code(std::errc::connection_reset), "GET " + name};
        from->fails_at = UINT64_MAX;
        return;
      }
      const std::string& bytes = from->files.at(name);
      if (first + to.size() > bytes.size()) failed = {std::make_error_code(std::errc::io_error), "beyond " + name};
      else bytes.copy(reinterpret_cast<char*>(to.data()), to.size(), first);
    };
    file.check = [from = server, then = file.version](distrib::Error& failed) {
      failed = {};
      if (from->version != then) failed = {std::make_error_code(std::errc::state_not_recoverable), "replaced"};
    };
    if (pool != nullptr)
      file.post = [to = pool](std::function<void()> job) { asio::post(to->executor(), std::move(job)); };
    return file;
  }
};

/// Returns the frame of a record.
inline auto framed(distrib::ByteView payload) -> std::string {
  return std::string{distrib::as_text(distrib::encode_record_header(payload.size()))} +
         std::string{distrib::as_text(payload)} + std::string{distrib::as_text(distrib::encode_record_footer(payload))};
}

/// Returns Examples with ids from `first` to `end`, each with `padding` more bytes.
inline auto examples(std::int64_t first, std::int64_t end, std::size_t padding = 0) -> std::string {
  std::string file;
  for (; first < end; ++first) {
    distrib::ExampleBuilder example;
    const std::string text(padding, static_cast<char>('a' + first % 26));
    file += framed(example.set("id", first).set("text", text).build());
  }
  return file;
}

}  // namespace ranged
