// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/spark/spark_error.hpp>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What becomes of a table that is at the path already.
enum class SaveMode : std::uint8_t {
  error_if_exists,  ///< `spark_errc::already_exists`, and it stays.
  append,           ///< Further files join its own. (The connector refuses this one.)
  overwrite,        ///< The new one takes its place in one step. (Spark deletes the old one first.)
  ignore,           ///< It stays, and nothing is written.
};

/// A name for one job, no other has it: "4d274d58-6c10-42bc-8c93-7bbedf02c998" (a random UUID). Throws what the system
/// says where it has no randomness.
template <class = void> [[nodiscard]] auto draw_job_id() -> std::string {
  std::array<std::byte, 16> bytes{};
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<::ssize_t>(bytes.size()))
    if (errno != EINTR) throw_error(detail::last_os_error(), "random numbers");
  bytes[6] = (bytes[6] & std::byte{0x0F}) | std::byte{0x40};
  bytes[8] = (bytes[8] & std::byte{0x3F}) | std::byte{0x80};
  std::string id = to_hex(ByteView{bytes});
  for (const std::size_t dash : {8U, 13U, 18U, 23U}) id.insert(dash, 1, '-');
  return id;
}

/// A directory that several tasks write together, each in its own process if need be, so that others see all of it or
/// nothing. Everything is written beside the path, in a hidden directory (".NAME.ID"):
///
/// 1. whoever leads calls `start()`, and hands path, id and mode to the tasks;
/// 2. each task writes into a directory of its own (a SparkWriter does), and `commit_task` makes it the task's: of
///    several attempts at a task the first one counts, what a dead one left counts never;
/// 3. whoever leads calls `commit(tasks)`, which puts the tasks' files together, adds _SUCCESS and renames. It may be
///    called again when it was interrupted.
///
/// `Error`s name the path. The system's own codes come with it. A value; distinct tasks may be committed at once.
class SparkWriteJob {
 public:
  SparkWriteJob(std::string path, std::string id, SaveMode mode = SaveMode::error_if_exists)
      : path_{std::move(path)}, id_{std::move(id)}, mode_{mode} {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    staging_ = detail::directory_of(path_);
    staging_.append("/.").append(detail::file_of(path_)).append(".").append(id_);
  }

  [[nodiscard]] auto path() const noexcept -> const std::string& { return path_; }
  [[nodiscard]] auto id() const noexcept -> const std::string& { return id_; }
  [[nodiscard]] auto mode() const noexcept -> SaveMode { return mode_; }

  /// Makes the hidden directory. False, without an error: there is a table already and the mode is `ignore`. `error`:
  /// `spark_errc::already_exists`.
  [[nodiscard]] auto start(Error& error) const -> bool {
    error = {};
    const bool exists = detail::path_exists(path_);
    if (exists && mode_ == SaveMode::ignore) return false;
    if (exists && mode_ == SaveMode::error_if_exists) error = {spark_errc::already_exists, path_};
    if (!error) make(temporary(), error);
    return !error;
  }
  [[nodiscard]] auto start() const -> bool {
    Error error;
    return detail::or_throw(start(error), error);
  }

  /// A new directory for an attempt at a task.
  [[nodiscard]] auto begin_task(std::size_t task, Error& error) const -> std::string {
    error = {};
    std::string directory = temporary() + "/attempt-" + number(task) + "-" + draw_job_id();
    make(directory, error);
    return directory;
  }
  [[nodiscard]] auto begin_task(std::size_t task) const -> std::string {
    Error error;
    return detail::or_throw(begin_task(task, error), error);
  }

  /// Makes what an attempt wrote the task's. Where another attempt was first, this one's is dropped.
  void commit_task(std::size_t task, const std::string& attempt, Error& error) const {
    error = {};
    const std::string committed = temporary() + "/task-" + number(task);
    if (std::rename(attempt.c_str(), committed.c_str()) != 0) {
      if (errno != EEXIST && errno != ENOTEMPTY) {
        error = {detail::last_os_error(), attempt};
        return;
      }
      discard(attempt);
    }
    sync(temporary(), error);
  }
  void commit_task(std::size_t task, const std::string& attempt) const {
    Error error;
    commit_task(task, attempt, error);
    throw_if(error);
  }

  /// Gives the table its name. `error`: `spark_errc::unfinished` naming the first of `tasks` that is not committed,
  /// `already_exists` where somebody else was faster; the hidden directory then stays.
  void commit(std::size_t tasks, Error& error) const {
    error = {};
    const std::string success = detail::join_path(staging_, "_SUCCESS");
    if (!detail::path_exists(success)) {
      for (std::size_t task = 0; task < tasks && !error; ++task)
        if (!detail::is_directory(temporary() + "/task-" + number(task)))
          error = {spark_errc::unfinished, path_ + ": task " + std::to_string(task)};
      for (std::size_t task = 0; task < tasks && !error; ++task)
        merge(temporary() + "/task-" + number(task), staging_, error);
      if (!error) touch(success, error);
    }
    if (error) return;
    discard(temporary());
    publish(error);
  }
  void commit(std::size_t tasks) const {
    Error error;
    commit(tasks, error);
    throw_if(error);
  }

  /// Drops all that was written.
  void abort() const noexcept { discard(staging_); }

  /// Drops what an attempt wrote.
  static void discard(const std::string& directory) noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }

 private:
  [[nodiscard]] auto temporary() const -> std::string { return detail::join_path(staging_, "_temporary"); }

  static auto number(std::size_t task) -> std::string {
    const std::string text = std::to_string(task);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  }

  static void make(const std::string& directory, Error& error) {
    detail::make_directories(directory, error.code);
    if (error) error.where = directory;
  }

  static void sync(const std::string& directory, Error& error) {
    detail::sync_path(directory, O_RDONLY | O_DIRECTORY, error.code);
    if (error) error.where = directory;
  }

  static void touch(const std::string& path, Error& error) {
    const detail::FileDescriptor file{path, O_WRONLY | O_CREAT, error.code};
    if (!error && ::fsync(file.get()) != 0) error.code = detail::last_os_error();
    if (error) error.where = path;
    if (!error) sync(detail::directory_of(path), error);
  }

  static void rename(const std::string& from, const std::string& to, unsigned flags, Error& error) {
    error = {};
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) != 0) error = {detail::last_os_error(), to};
  }

  /// Moves files below `from` to the same place below `to`, but none that a dead attempt left half written.
  static void merge(const std::string& from, const std::string& to, Error& error) {
    const auto names = detail::list_directory(from, error.code);
    if (error) error.where = from;
    if (!error && !names.empty()) make(to, error);
    for (const std::string& name : names) {
      if (error) return;
      const std::string source = detail::join_path(from, name);
      const std::string target = detail::join_path(to, name);
      if (detail::is_directory(source)) merge(source, target, error);
      else if (!name.starts_with('.') && name != "_SUCCESS") rename(source, target, 0, error);
    }
    if (!error && !names.empty()) sync(to, error);
  }

  void publish(Error& error) const {
    rename(staging_, path_, RENAME_NOREPLACE, error);
    if (error.code == std::errc::invalid_argument || error.code == std::errc::function_not_supported) {
      error = {};  // a file system that cannot say "only if it is new"
      if (detail::path_exists(path_)) error.code = std::make_error_code(std::errc::file_exists);
      else rename(staging_, path_, 0, error);
    }
    if (error.code == std::errc::file_exists) replace(error);
    if (!error) sync(detail::directory_of(path_), error);
  }

  /// There is a table at the path.
  void replace(Error& error) const {
    error = {};
    switch (mode_) {
      case SaveMode::error_if_exists: error = {spark_errc::already_exists, path_}; return;
      case SaveMode::ignore: return abort();
      case SaveMode::append:
        merge(staging_, path_, error);
        if (!error) touch(detail::join_path(path_, "_SUCCESS"), error);
        break;
      case SaveMode::overwrite:
        rename(staging_, path_, RENAME_EXCHANGE, error);
        if (error.code == std::errc::invalid_argument || error.code == std::errc::function_not_supported) {
          const std::string old = staging_ + ".old";
          rename(path_, old, 0, error);
          if (!error) rename(staging_, path_, 0, error);
          if (!error) discard(old);
        }
    }
    if (!error) abort();  // an old table, or what is left of the hidden directory
  }

  std::string path_;
  std::string id_;
  SaveMode mode_;
  std::string staging_;
};

}  // namespace v0
}  // namespace distrib
