// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/profiler.hpp>

#include <distrib/checkpoint/directories.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/train/error.hpp>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

// The file of one process. The destructor ends the list, so that the file is JSON.
class Profiler::File {
 public:
  File(const std::string& directory, std::string_view task) : pid_{std::to_string(::getpid())} {
    Error ignored;  // then the file cannot be made either
    make_directories(directory, ignored);
    const std::string name = plain(task);  // without slashes: Perfetto shows only what follows the last one
    open(directory, "trace-" + name);
    write(R"({"ph":"M","name":"process_name","pid":)" + pid_ + R"(,"args":{"name":")" + name + "\"}}");
  }
  File(const File&) = delete;
  auto operator=(const File&) -> File& = delete;
  ~File() {
    std::fputs("\n]\n", file_);
    std::fclose(file_);
  }

  [[nodiscard]] auto path() const noexcept -> const std::string& { return path_; }

  void add(const Phase& phase) {
    // Ranks and shards of one process are tracks of their own.
    const std::uint64_t track = phase.is_rank ? phase.of : 1'000'000 + std::uint64_t{phase.of};
    const std::string place = ",\"pid\":" + pid_ + ",\"tid\":" + std::to_string(track);
    if (named_.insert(track).second)
      write(R"({"ph":"M","name":"thread_name")" + place + R"(,"args":{"name":")" +
            (phase.is_rank ? "rank " : "shard ") + std::to_string(phase.of) + "\"}}");
    const bool is_moment = phase.kind == Phase::Kind::reached;
    char times[80];
    std::snprintf(times, sizeof times, is_moment ? ",\"ts\":%.3f" : ",\"ts\":%.3f,\"dur\":%.3f", micros(phase.begin),
                  micros(phase.end) - micros(phase.begin));
    write((is_moment ? R"({"ph":"i","s":"t","name":")" : R"({"ph":"X","name":")") + std::string{to_string(phase.kind)} +
          "\"" + place + times + ",\"args\":{\"step\":" + std::to_string(phase.step) + "}}");
  }

  // Returns false if something could not be written.
  [[nodiscard]] auto flush() -> bool { return std::fflush(file_) == 0 && std::ferror(file_) == 0; }

 private:
  static auto micros(std::chrono::steady_clock::time_point time) -> double {
    return std::chrono::duration<double, std::micro>{time.time_since_epoch()}.count();
  }

  // Returns the letters and digits of a task's name: "job-worker-task-1".
  static auto plain(std::string_view task) -> std::string {
    std::string name;
    for (const char c : task) {
      const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (is_plain) name += c;
      else if (!name.empty() && name.back() != '-') name += '-';
    }
    return name;
  }

  // Opens the first of STEM.json, STEM.2.json, ... that does not exist.
  void open(const std::string& directory, const std::string& stem) {
    for (int number = 1; file_ == nullptr; ++number) {
      const std::string numbered = number == 1 ? stem : stem + '.' + std::to_string(number);
      path_ = detail::join_path(directory, numbered + ".json");
      file_ = std::fopen(path_.c_str(), "wbx");
      if (file_ == nullptr && (errno != EEXIST || number == 10'000))
        throw_error({errno, std::generic_category()}, path_);
    }
  }

  void write(const std::string& event) {
    std::fputs(std::exchange(begun_, true) ? ",\n" : "[\n", file_);
    std::fputs(event.c_str(), file_);
  }

  std::string pid_;
  std::string path_;
  std::FILE* file_ = nullptr;
  bool begun_ = false;
  std::set<std::uint64_t> named_;  // tracks
};

DISTRIB_DECL Profiler::Profiler(ProfilerOptions options)
    : options_{std::move(options)}, timer_{{.every_secs = options_.save_secs, .every_steps = options_.save_steps}} {
  if (detail::is_url(options_.output_dir))
    throw_error(train_errc::bad_hook, "Profiler: traces are written to a directory of files, not to " +
                                          detail::shown_url(options_.output_dir));
}

DISTRIB_DECL void Profiler::on_phase(const PhaseMeasured& event) {
  const Phase& phase = event.phase;
  if (phase.step < options_.first_step || phase.step > options_.last_step || events_ >= options_.max_events) return;
  if (events_++ == 0) file_ = std::make_shared<File>(options_.output_dir, event.task);
  file_->add(phase);
  const bool is_full = events_ == options_.max_events;
  if (!is_full && !timer_.should_trigger_for_step(phase.step, phase.end)) return;
  timer_.update_last_triggered_step(phase.step, phase.end);
  const bool written = file_->flush();
  if (!written) {
    const std::error_code ec{errno, std::generic_category()};
    report_ = Event{Event::Kind::no_room, event.task, file_->path(), ec,
                    "the trace " + file_->path() + " ends here: " + ec.message()};
    events_ = options_.max_events;
  }
  if (is_full || !written) file_.reset();
}

DISTRIB_DECL auto Profiler::report() -> std::optional<Event> { return std::exchange(report_, std::nullopt); }

}  // namespace v0
}  // namespace distrib
