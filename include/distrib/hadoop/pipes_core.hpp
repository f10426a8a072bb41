// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/job_conf.hpp>
#include <distrib/hadoop/pipes_messages.hpp>
#include <distrib/hadoop/writable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// Options of a `PipesCore`.
struct PipesOptions {
  /// The job's token. Without a token nothing is verified and nothing answered: only for a recorded conversation.
  std::optional<Bytes> token{};
  /// Limit for a key, value or split, in bytes. The default is what Java can hold.
  std::size_t most_bytes = (std::size_t{1} << 31) - 1;
  /// Limit for all settings of the job together, in bytes, each with 16 more; typical jobs have about 100 KiB.
  std::size_t most_conf_bytes = std::size_t{16} << 20;
};

/// A message that a `PipesCore` has received. Its views are valid until the next call of `space` or `receive`.
struct PipesEvent {
  /// Which message, one of those that Hadoop sends. All settings of a job are one event, when the last one has arrived.
  PipesMessage kind{};
  ByteView first = {};  ///< A key, a split, or the class of the keys.
  ByteView second = {};  ///< A value, or the class of the values.
  std::uint32_t reduces = 0;  ///< For `run_map`: the number of reduces of the job.
  /// For `run_map`: Java reads the input. For `run_reduce`: Java writes the output.
  bool java = false;
};

/// The task's side of the binary protocol of Hadoop Pipes, without the socket: gets the bytes that arrive, returns the
/// messages in them, and collects the bytes to send.
///
/// The other side must first prove that it knows the job's token; any message before that is refused. Other messages
/// are accepted only where the protocol allows them. No memory is allocated for an announced length before its bytes
/// have arrived.
///
/// Errors: `error()` is the first failure and the position, in the received bytes, of the message in which it occurred.
/// After it `next` returns nothing. A value.
///
/// Threads: one at a time.
class PipesCore {
 public:
  explicit PipesCore(PipesOptions options = {}) : options_{std::move(options)} {}

  /// Returns memory for at least `least` bytes that will arrive. Ends the validity of the views of events.
  [[nodiscard]] DISTRIB_DECL auto space(std::size_t least) -> std::span<std::byte>;

  /// Tells the core that `count` bytes have arrived in `space`.
  void received(std::size_t count) noexcept { filled_ += count; }

  /// Copies bytes that have arrived.
  void receive(ByteView bytes) {
    const std::span<std::byte> to = space(bytes.size());
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    received(bytes.size());
  }

  /// Tells the core that no more bytes will arrive. `error()` is then `hadoop_errc::truncated`, unless `input_ended()`
  /// and `next` has returned everything.
  void end() {
    if (!error_ && (stage_ != Stage::closed || filled_ != used_)) fail(hadoop_errc::truncated);
  }

  /// Returns the next message; nothing until it has arrived completely, and after a failure.
  [[nodiscard]] DISTRIB_DECL auto next() -> std::optional<PipesEvent>;

  /// Returns the job's settings. Complete from the event `job_conf` on.
  [[nodiscard]] auto conf() const noexcept -> const JobConf& { return conf_; }

  /// Returns the first failure and its place; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// True if all input has arrived, or none will arrive.
  [[nodiscard]] auto input_ended() const noexcept -> bool { return stage_ == Stage::closed; }

  /// Returns the bytes to send. The functions of pipes_messages.hpp append messages. The caller removes the bytes that
  /// it has sent.
  [[nodiscard]] auto outbox() noexcept -> Bytes& { return outbox_; }

 private:
  // In the order in which they follow each other. The values of a reduce come only after a key.
  enum class Stage { stranger, proven, started, settings, configured, map_types, map, reduce, values, closed };

  DISTRIB_DECL auto read_message(WritableReader& reader, PipesEvent& event) -> bool;

  /// Reads one setting. Each setting is stored when it arrives, so no message needs memory for all of them.
  DISTRIB_DECL auto read_setting(WritableReader& reader, PipesEvent& event) -> bool;

  DISTRIB_DECL auto authenticate(WritableReader& reader) -> bool;

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
  std::size_t wanted_ = 1;  // least number of bytes of the next message
  std::uint64_t offset_ = 0;  // position of the next message in all received bytes
  Bytes outbox_;
  Error error_;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/pipes_core.ipp>
#endif
