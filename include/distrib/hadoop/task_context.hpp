// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/job_conf.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// A key and its value: views of bytes that their source owns.
struct KeyValue {
  ByteView key;  ///< Serialized, as its source has it.
  ByteView value;  ///< The same.
};

/// A counter of a task; see `TaskContext::counter`.
enum class Counter : std::uint32_t {};

/// Where a task's pairs and reports go. If a function is empty, they are dropped.
struct TaskOutlets {
  std::function<void(ByteView key, ByteView value)> emit{};  ///< Receives a pair that the task emits.
  std::function<void(std::string_view line)> status{};  ///< Receives a line of text for users.
  std::function<void(float done)> progress{};  ///< Receives the progress, 0 to 1.
  /// Receives a new counter: its number, group and name.
  std::function<void(std::uint32_t number, std::string_view group, std::string_view name)> registered{};
  /// Receives the amount by which a counter grew.
  std::function<void(std::uint32_t number, std::int64_t amount)> counted{};
};

/// What a mapper, a reducer and all other roles see of their task: the job's settings, and functions that emit pairs,
/// count, and report. Pipes and Streaming give a task the same context; a test makes its own from settings and outlets.
///
/// Threads: one at a time.
class TaskContext {
 public:
  /// `conf`: the settings of the job. `outlets`: where emitted pairs, counters and status texts go; an empty outlet
  /// drops them.
  explicit TaskContext(JobConf conf = {}, TaskOutlets outlets = {})
      : conf_{std::move(conf)}, outlets_{std::move(outlets)} {}
  TaskContext(const TaskContext&) = delete;
  auto operator=(const TaskContext&) -> TaskContext& = delete;

  /// Returns the job's settings.
  [[nodiscard]] auto conf() const noexcept -> const JobConf& { return conf_; }

  /// Returns the number of this map or of this reduce, from 0. Throws `std::system_error` with
  /// `hadoop_errc::bad_setting` if `mapreduce.task.partition` is not set, or is not a number below 2^32.
  [[nodiscard]] auto task_index() const -> std::uint32_t {
    constexpr std::string_view name = "mapreduce.task.partition";
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    constexpr std::uint64_t none = most + 1;
    const std::uint64_t index = conf_.number(name, none, most);
    if (index == none) throw_error(hadoop_errc::bad_setting, std::string{name} + "=");
    return static_cast<std::uint32_t>(index);
  }

  /// Emits a pair: a map emits to the reduces, a reduce to the output. The bytes may be changed after the call.
  void emit(ByteView key, ByteView value) {
    if (outlets_.emit) outlets_.emit(key, value);
  }
  void emit(std::string_view key, std::string_view value) { emit(as_bytes(key), as_bytes(value)); }

  /// Returns the counter of this group and name. A counter of the job is the sum over its tasks. Call it once for each
  /// counter, not for every pair: it searches by name.
  [[nodiscard]] DISTRIB_DECL auto counter(std::string_view group, std::string_view name) -> Counter;

  /// Adds `amount` to a counter. Reported about once a second and at the end.
  void increment(Counter counter, std::int64_t amount = 1) { counts_[static_cast<std::size_t>(counter)] += amount; }

  /// Reports a line of text that users see beside the task.
  void status(std::string_view line) {
    if (outlets_.status) outlets_.status(line);
  }

  /// Reports the progress, 0 to 1, and the counters. Trap: Hadoop ends a task that reports nothing for
  /// `mapreduce.task.timeout` (default: ten minutes). Call this function inside work that takes long.
  void progress(float done) {
    tell_counts();
    if (outlets_.progress) outlets_.progress(done);
  }

  /// Reports what was counted since the last report. Called by the code that runs the task.
  void tell_counts() {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (const std::int64_t amount = std::exchange(counts_[i], 0); amount != 0 && outlets_.counted)
        outlets_.counted(static_cast<std::uint32_t>(i), amount);
  }

  /// Replaces the outlets and returns the old ones. Called by the code that runs the task.
  auto exchange_outlets(TaskOutlets outlets) -> TaskOutlets { return std::exchange(outlets_, std::move(outlets)); }

  /// Replaces the settings. Called by the code that runs the task, before any role sees them.
  void set_conf(JobConf conf) { conf_ = std::move(conf); }

 private:
  JobConf conf_;
  TaskOutlets outlets_;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
  std::vector<std::int64_t> counts_;
};

/// The values of one key, which can be read once, one after the other: `for (ByteView value : values)`. The bytes of a
/// value are valid until the next one is requested. Values that are not read are skipped.
class Values {
 public:
  /// Calls `next` for each value, until it returns nothing.
  explicit Values(std::function<std::optional<ByteView>()> next) : next_{std::move(next)} {}

  /// Returns the next value; nothing at the end.
  [[nodiscard]] DISTRIB_DECL auto next() -> std::optional<ByteView>;

  /// Makes the values an input range. Trap: begin() reads a value, so call it only once.
  class Iterator {
   public:
    using value_type = ByteView;
    using difference_type = std::ptrdiff_t;

    /// Reads the next of `values`, which must outlive the iterator.
    explicit Iterator(Values& values) : values_{&values}, value_{values.next()} {}
    /// Returns the current value, valid until the iterator is advanced. Not allowed at the end (not checked).
    [[nodiscard]] auto operator*() const -> ByteView { return *value_; }
    /// Reads the next value.
    auto operator++() -> Iterator& {
      value_ = values_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    [[nodiscard]] auto operator==(std::default_sentinel_t) const noexcept -> bool { return !value_; }

   private:
    Values* values_;
    std::optional<ByteView> value_;
  };
  /// Reads the next value, and returns an input iterator at it. Call it only once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  /// Returns the end of the range.
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  std::function<std::optional<ByteView>()> next_;
  bool ended_ = false;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/task_context.ipp>
#endif
