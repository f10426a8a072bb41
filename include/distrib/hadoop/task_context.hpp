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
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// A key and its value; views of bytes of whoever hands it out.
struct KeyValue {
  ByteView key;
  ByteView value;
};

/// Stands for one counter of a task; see `TaskContext::counter`.
enum class Counter : std::uint32_t {};

/// What becomes of a task's words. Where one is empty, they are dropped.
struct TaskOutlets {
  std::function<void(ByteView key, ByteView value)> emit{};  ///< A pair goes out.
  std::function<void(std::string_view line)> status{};       ///< A line for people.
  std::function<void(float done)> progress{};                ///< 0 to 1.
  /// A new counter: its number, group and name.
  std::function<void(std::uint32_t number, std::string_view group, std::string_view name)> registered{};
  std::function<void(std::uint32_t number, std::int64_t amount)> counted{};  ///< So much more of a counter.
};

/// What a mapper, a reducer and all that is given to `run_task` see of their task: the job's settings, and where pairs,
/// counts and words go. The same over Pipes, over Streaming and in a test, which makes one of settings and outlets.
/// Threads: one at a time.
class TaskContext {
 public:
  explicit TaskContext(JobConf conf = {}, TaskOutlets outlets = {})
      : conf_{std::move(conf)}, outlets_{std::move(outlets)} {}
  TaskContext(const TaskContext&) = delete;
  auto operator=(const TaskContext&) -> TaskContext& = delete;

  /// The job's settings.
  [[nodiscard]] auto conf() const noexcept -> const JobConf& { return conf_; }

  /// The number of this map or this reduce, from 0 on. Throws `hadoop_errc::bad_setting` where the job does not say it.
  [[nodiscard]] auto task_index() const -> std::uint32_t {
    constexpr std::string_view name = "mapreduce.task.partition";
    if (!conf_.find(name)) throw_error(hadoop_errc::bad_setting, name);
    return static_cast<std::uint32_t>(conf_.number(name, 0));
  }

  /// Hands out a pair: of a map to the reduces, of a reduce to the output. The bytes are the caller's again afterwards.
  void emit(ByteView key, ByteView value) {
    if (outlets_.emit) outlets_.emit(key, value);
  }
  void emit(std::string_view key, std::string_view value) { emit(as_bytes(key), as_bytes(value)); }

  /// The counter of this group and name; the job's counters are the sums over its tasks. Cheap enough to be asked for
  /// once, not for every pair.
  [[nodiscard]] DISTRIB_DECL auto counter(std::string_view group, std::string_view name) -> Counter;

  /// Counts. Told about once a second and at the end.
  void increment(Counter counter, std::int64_t amount = 1) { counts_[static_cast<std::size_t>(counter)] += amount; }

  /// A line that people see beside the task.
  void status(std::string_view line) {
    if (outlets_.status) outlets_.status(line);
  }

  /// How much is done, 0 to 1. A task that says nothing for `mapreduce.task.timeout`, ten minutes unless told, is
  /// ended: call it within work that takes long.
  void progress(float done) {
    tell_counts();
    if (outlets_.progress) outlets_.progress(done);
  }

  /// Tells what was counted since the last time. Who runs the task calls it.
  void tell_counts() {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (const std::int64_t amount = std::exchange(counts_[i], 0); amount != 0 && outlets_.counted)
        outlets_.counted(static_cast<std::uint32_t>(i), amount);
  }

  /// Other outlets from now on, and those until now. Who runs the task calls it.
  auto exchange_outlets(TaskOutlets outlets) -> TaskOutlets { return std::exchange(outlets_, std::move(outlets)); }

  /// Other settings from now on. Who runs the task calls it, before anybody else sees them.
  void set_conf(JobConf conf) { conf_ = std::move(conf); }

 private:
  JobConf conf_;
  TaskOutlets outlets_;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
  std::vector<std::int64_t> counts_;
};

/// The values of one key, which come one after the other and once: `for (ByteView value : values)`. Bytes live until
/// the next one is asked for. Values that nobody asks for are passed over.
class Values {
 public:
  /// Asks `next` for each, until it gives none.
  explicit Values(std::function<std::optional<ByteView>()> next) : next_{std::move(next)} {}

  /// The next one; nothing at the end.
  [[nodiscard]] DISTRIB_DECL auto next() -> std::optional<ByteView>;

  /// As an input range: begin() fetches a value, so call it once.
  class Iterator {
   public:
    using value_type = ByteView;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Values& values) : values_{&values}, value_{values.next()} {}
    [[nodiscard]] auto operator*() const -> ByteView { return *value_; }
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
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
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
