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
  [[nodiscard]] DISTRIB_DECL auto space(std::size_t least) -> std::span<std::byte>;

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
  [[nodiscard]] DISTRIB_DECL auto next() -> std::optional<PipesEvent>;

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

  DISTRIB_DECL auto read_message(WritableReader& reader, PipesEvent& event) -> bool;

  /// One name and its value: settings are kept as they come, so that no message is as long as all of them.
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
  std::size_t wanted_ = 1;  // bytes that the next message has at least
  std::uint64_t offset_ = 0;  // of the next message in all that was received
  Bytes outbox_;
  Error error_;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/pipes_core.ipp>
#endif
