// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/job_conf.hpp>
#include <distrib/hadoop/pipes_messages.hpp>
#include <distrib/hadoop/token.hpp>
#include <distrib/hadoop/writable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// How a `PipesCore` behaves.
struct PipesOptions {
  /// The job's token. Without one nothing is verified nor answered, which is for a recorded conversation only.
  std::optional<Bytes> token{};
  /// The longest key, value, split or line. The default is what Java can hold.
  std::size_t most_bytes = (std::size_t{1} << 31) - 1;
  /// The most bytes that the job's settings may have together; real ones have some 100 KiB.
  std::size_t most_conf_bytes = std::size_t{16} << 20;
};

/// What a `PipesCore` made of the bytes that arrived. Its views live until it is given more.
struct PipesEvent {
  PipesMessage kind{};  ///< Which message. Of those that go up none; the settings come as one, when all are there.
  ByteView first = {};  ///< A key, a split, or the class of keys.
  ByteView second = {};  ///< A value, or the class of values.
  std::uint32_t reduces = 0;  ///< Of `run_map`: how many reduces the job has.
  bool java = false;  ///< Of `run_map`: Java reads the input. Of `run_reduce`: Java writes the output.
};

/// A task's end of the binary protocol of Hadoop Pipes, without the socket: takes the bytes that arrive and says what
/// they mean, and gathers the bytes that are to be sent.
///
/// The other side proves first that it knows the job's token; what comes before that is refused. Messages are taken
/// only where the protocol has a place for them, and no memory is taken for a length before its bytes are there. The
/// first failure sticks: `error()` says what and at which byte of what was received. A value; one thread at a time.
class PipesCore {
 public:
  explicit PipesCore(PipesOptions options = {}) : options_{std::move(options)} {}

  /// Room for bytes that arrive, `least` or more. Ends what the views of events show.
  [[nodiscard]] auto space(std::size_t least) -> std::span<std::byte> {
    if (used_ != 0) {
      std::memmove(buffer_.data(), buffer_.data() + used_, filled_ - used_);
      filled_ -= std::exchange(used_, 0);
    }
    if (buffer_.size() - filled_ < least) buffer_.resize(std::max(2 * buffer_.size(), filled_ + least));
    return std::span{buffer_}.subspan(filled_);
  }

  /// So many bytes arrived in `space`.
  void received(std::size_t count) noexcept { filled_ += count; }

  /// These bytes arrived.
  void receive(ByteView bytes) {
    const std::span<std::byte> to = space(bytes.size());
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    received(bytes.size());
  }

  /// No more bytes will arrive. A failure, `hadoop_errc::truncated`, unless the input had ended or was not to come.
  void end() {
    if (!error_ && (stage_ != Stage::closed || filled_ != used_)) fail(hadoop_errc::truncated);
  }

  /// The next message; nothing while it is not whole, and after a failure.
  [[nodiscard]] auto next() -> std::optional<PipesEvent> {
    while (!error_ && filled_ - used_ >= wanted_) {
      WritableReader reader{ByteView{buffer_}.first(filled_).subspan(used_)};
      PipesEvent event;
      const bool shown = stage_ == Stage::settings ? read_setting(reader, event) : read_message(reader, event);
      if (reader.error() == hadoop_errc::truncated) {
        wanted_ = reader.wanted();
        return std::nullopt;
      }
      if (reader.error()) fail(reader.error());
      if (error_) break;
      wanted_ = 1;
      used_ += reader.used();
      offset_ += reader.used();
      if (shown) return event;
    }
    return std::nullopt;
  }

  /// The job's settings, from the event `job_conf` on.
  [[nodiscard]] auto conf() const noexcept -> const JobConf& { return conf_; }

  /// What went wrong first, and where; empty while all is well.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Whether all input has come, or none will.
  [[nodiscard]] auto input_ended() const noexcept -> bool { return stage_ == Stage::closed; }

  /// What is to be sent; messages are added by the functions of pipes_messages.hpp. Take it away as it is sent.
  [[nodiscard]] auto outbox() noexcept -> Bytes& { return outbox_; }

 private:
  // In the order in which they come. A reduce's values come only after a key.
  enum class Stage { stranger, proven, started, settings, configured, map_types, map, reduce, values, closed };

  auto read_message(WritableReader& reader, PipesEvent& event) -> bool {
    const std::int64_t code = reader.vlong();
    if (reader.error()) return false;
    event.kind = static_cast<PipesMessage>(code);
    const Stage stage = stage_;
    Stage after = stage;
    const auto only_in = [&](bool allowed, Stage then) {
      if (!allowed) fail(hadoop_errc::unexpected_message, code);
      after = then;
      return allowed;
    };
    if (code < 0 || code > 10) return fail(hadoop_errc::unknown_message, code);
    if (stage == Stage::stranger && event.kind != PipesMessage::authentication_request)
      return fail(hadoop_errc::unauthenticated, code);
    switch (event.kind) {
      case PipesMessage::authentication_request:
        if (!only_in(stage == Stage::stranger, Stage::proven) || !authenticate(reader)) return false;
        break;
      case PipesMessage::start:
        if (!only_in(stage == Stage::proven, Stage::started)) return false;
        if (const std::int64_t version = reader.vlong(); !reader.error() && version != 0)
          return fail(hadoop_errc::unknown_version, version);
        break;
      case PipesMessage::job_conf:
        if (!only_in(stage == Stage::started, Stage::settings)) return false;
        strings_left_ = reader.vint(0);
        if (!reader.error() && strings_left_ % 2 != 0) return fail(hadoop_errc::bad_number, strings_left_);
        if (!reader.error() && strings_left_ == 0) after = Stage::configured;
        break;
      case PipesMessage::run_map: {
        if (!only_in(stage == Stage::configured, Stage::closed)) return false;
        event.first = reader.bytes(options_.most_bytes);
        event.reduces = static_cast<std::uint32_t>(reader.vint(0));
        event.java = reader.vint() != 0;
        if (event.java) after = Stage::map_types;
        break;
      }
      case PipesMessage::input_types:
        if (!only_in(stage == Stage::map_types, Stage::map)) return false;
        event.first = reader.bytes(options_.most_bytes);
        event.second = reader.bytes(options_.most_bytes);
        break;
      case PipesMessage::map_item:
        if (!only_in(stage == Stage::map_types || stage == Stage::map, Stage::map)) return false;
        event.first = reader.bytes(options_.most_bytes);
        event.second = reader.bytes(options_.most_bytes);
        break;
      case PipesMessage::run_reduce:
        if (!only_in(stage == Stage::configured, Stage::reduce)) return false;
        reader.vint();
        event.java = reader.vint() != 0;
        break;
      case PipesMessage::reduce_key:
        if (!only_in(stage == Stage::reduce || stage == Stage::values, Stage::values)) return false;
        event.first = reader.bytes(options_.most_bytes);
        break;
      case PipesMessage::reduce_value:
        if (!only_in(stage == Stage::values, Stage::values)) return false;
        event.second = reader.bytes(options_.most_bytes);
        break;
      case PipesMessage::close:
        if (!only_in(
                stage == Stage::map_types || stage == Stage::map || stage == Stage::reduce || stage == Stage::values,
                Stage::closed))
          return false;
        break;
      case PipesMessage::abort: return fail(hadoop_errc::aborted);
      default: return fail(hadoop_errc::unknown_message, code);
    }
    if (reader.error() || error_) return false;
    stage_ = after;
    return event.kind != PipesMessage::job_conf || stage_ == Stage::configured;
  }

  /// One name and its value: settings are kept as they come, so that no message is as long as all of them.
  auto read_setting(WritableReader& reader, PipesEvent& event) -> bool {
    const std::size_t room = options_.most_conf_bytes - conf_bytes_;
    const std::string_view name = reader.text(room);
    const std::string_view value = reader.text(room - name.size());
    if (reader.error()) return false;
    // What a setting takes beside its text: an empty one is not for free.
    constexpr std::size_t beside = 16;
    const std::size_t size = name.size() + value.size() + beside;
    if (size > room) return fail(hadoop_errc::too_large);
    conf_bytes_ += size;
    conf_.set(std::string{name}, std::string{value});
    strings_left_ -= 2;
    if (strings_left_ != 0) return false;
    stage_ = Stage::configured;
    event.kind = PipesMessage::job_conf;
    return true;
  }

  auto authenticate(WritableReader& reader) -> bool {
    constexpr std::size_t longest = 1024;  // no stranger may have more kept
    const std::string_view digest = reader.text(longest);
    const std::string_view challenge = reader.text(longest);
    if (reader.error()) return false;
    if (!options_.token) return true;
    std::error_code ec;
    if (!token_digest_matches(*options_.token, challenge, digest, ec))
      return fail(ec ? ec : make_error_code(hadoop_errc::wrong_digest));
    append_message(outbox_, PipesMessage::authentication_response);
    append_bytes(outbox_, as_bytes(token_digest(*options_.token, digest, digest.size(), ec)));
    return true;
  }

  auto fail(std::error_code ec) -> bool {
    if (!error_) error_ = {ec, "byte " + std::to_string(offset_) + " of what Hadoop sent"};
    return false;
  }
  auto fail(std::error_code ec, std::int64_t number) -> bool {
    if (!error_) error_ = {ec, std::to_string(number) + " at byte " + std::to_string(offset_) + " of what Hadoop sent"};
    return false;
  }

  PipesOptions options_;
  Stage stage_ = Stage::stranger;
  JobConf conf_;
  std::size_t conf_bytes_ = 0;
  std::int32_t strings_left_ = 0;
  Bytes buffer_;
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  std::size_t wanted_ = 1;  // bytes that the next message has at least
  std::uint64_t offset_ = 0;  // of the next message in all that was received
  Bytes outbox_;
  Error error_;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
