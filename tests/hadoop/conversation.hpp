// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/hadoop/pipes_messages.hpp>
#include <distrib/hadoop/writable.hpp>
#include <distrib/net/instant.hpp>

#include "support/test_dir.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// Both directions of a conversation of Pipes, for tests.
namespace conversation {

using distrib::as_bytes;
using distrib::as_text;
using distrib::ByteView;
using distrib::hadoop::Bytes;
using distrib::hadoop::PipesMessage;

inline auto text_of(ByteView bytes) -> std::string { return std::string{as_text(bytes)}; }
inline auto bytes_of(std::string_view text) -> Bytes {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

inline auto file_text(const std::string& path) -> std::string {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// What Hadoop 3.4 sent to a task, recorded, and the job's token.
struct Recorded {
  explicit Recorded(const std::string& name) {
    const std::string path = support::test_dir() + "/hadoop/pipes/" + name;
    down = bytes_of(file_text(path + ".downlink"));
    const std::string hex = file_text(path + ".token.hex");
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      token.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  Bytes down;
  Bytes token;
};

/// What Hadoop sends, composed by the test. With settings it begins as every conversation does, without a token.
class Said {
 public:
  using Settings = std::map<std::string, std::string>;

  Said() = default;
  explicit Said(const Settings& settings) {
    message(PipesMessage::authentication_request).bytes("digest").bytes("challenge");
    message(PipesMessage::start).number(0);
    message(PipesMessage::job_conf).number(static_cast<std::int64_t>(2 * settings.size()));
    for (const auto& [name, value] : settings) bytes(name).bytes(value);
  }
  auto message(PipesMessage code) -> Said& { return number(static_cast<std::int32_t>(code)); }
  auto number(std::int64_t value) -> Said& {
    distrib::hadoop::detail::append_vint(said, value);
    return *this;
  }
  auto bytes(ByteView bytes) -> Said& {
    distrib::hadoop::detail::append_bytes(said, bytes);
    return *this;
  }
  auto bytes(std::string_view text) -> Said& { return bytes(as_bytes(text)); }
  auto run_map(ByteView split, int reduces, bool java) -> Said& {
    return message(PipesMessage::run_map).bytes(split).number(reduces).number(java ? 1 : 0);
  }
  auto item(std::string_view key, std::string_view value) -> Said& {
    return message(PipesMessage::map_item).bytes(key).bytes(value);
  }
  auto run_reduce(bool java) -> Said& { return message(PipesMessage::run_reduce).number(0).number(java ? 1 : 0); }
  auto group(std::string_view key, const std::vector<std::string>& values) -> Said& {
    message(PipesMessage::reduce_key).bytes(key);
    for (const std::string& value : values) message(PipesMessage::reduce_value).bytes(value);
    return *this;
  }
  auto close() -> Said& { return message(PipesMessage::close); }

  Bytes said;
};

/// The answers of a task, one line per message: "output key=value", "partitioned 1 key=value", "counter 0 group/name",
/// "count 0 5", "status ...", "progress 0.5", "done", "proof ...".
inline auto answers(ByteView up) -> std::vector<std::string> {
  std::vector<std::string> lines;
  distrib::hadoop::WritableReader reader{up};
  const auto text = [&] { return std::string{reader.text(up.size())}; };
  while (reader.used() != up.size()) {
    const auto code = static_cast<PipesMessage>(reader.vlong());
    std::ostringstream line;
    switch (code) {
      case PipesMessage::output:
        line << "output " << text();
        line << '=' << text();
        break;
      case PipesMessage::partitioned_output:
        line << "partitioned " << reader.vlong();
        line << ' ' << text();
        line << '=' << text();
        break;
      case PipesMessage::status: line << "status " << text(); break;
      case PipesMessage::progress: line << "progress " << reader.real(); break;
      case PipesMessage::done: line << "done"; break;
      case PipesMessage::register_counter:
        line << "counter " << reader.vlong();
        line << ' ' << text();
        line << '/' << text();
        break;
      case PipesMessage::increment_counter:
        line << "count " << reader.vlong();
        line << ' ' << reader.vlong();
        break;
      case PipesMessage::authentication_response: line << "proof " << text(); break;
      default: throw std::runtime_error("no answer has the code " + std::to_string(static_cast<int>(code)));
    }
    if (reader.error()) throw std::system_error(reader.error());
    lines.push_back(line.str());
  }
  return lines;
}

/// A clock that never advances.
inline auto stopped() -> std::function<distrib::Instant()> {
  return [] { return distrib::Instant{}; };
}

/// A link that returns the bytes of `down` in pieces, and stores the answers.
struct MemoryLink {
  Bytes down;
  std::size_t piece = 1000;
  Bytes up{};
  std::size_t at = 0;

  auto read_some(std::span<std::byte> space, std::error_code& ec) -> std::size_t {
    ec.clear();
    const std::size_t count = std::min({space.size(), piece, down.size() - at});
    if (count != 0) std::memcpy(space.data(), down.data() + at, count);
    at += count;
    return count;
  }
  void write(ByteView bytes, std::error_code& ec) {
    ec.clear();
    distrib::hadoop::detail::append_raw(up, bytes);
  }
};

}  // namespace conversation
