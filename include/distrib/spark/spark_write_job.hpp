// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
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
[[nodiscard]] DISTRIB_DECL auto draw_job_id() -> std::string;

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

  /// Makes the hidden directory. False, without an error: there is a table already and the mode is `ignore`. `to`:
  /// `spark_errc::already_exists`.
  [[nodiscard]] DISTRIB_DECL auto start(ErrorRef to) const -> bool;
  [[nodiscard]] auto start() const -> bool {
    Error error;
    return detail::or_throw(start(error), error);
  }

  /// A new directory for an attempt at a task.
  [[nodiscard]] DISTRIB_DECL auto begin_task(std::size_t task, ErrorRef to) const -> std::string;
  [[nodiscard]] auto begin_task(std::size_t task) const -> std::string {
    Error error;
    return detail::or_throw(begin_task(task, error), error);
  }

  /// Makes what an attempt wrote the task's. Where another attempt was first, this one's is dropped.
  DISTRIB_DECL void commit_task(std::size_t task, const std::string& attempt, ErrorRef to) const;
  void commit_task(std::size_t task, const std::string& attempt) const {
    Error error;
    commit_task(task, attempt, error);
    throw_if(error);
  }

  /// Gives the table its name. `to`: `spark_errc::unfinished` naming the first of `tasks` that is not committed,
  /// `already_exists` where somebody else was faster; the hidden directory then stays.
  DISTRIB_DECL void commit(std::size_t tasks, ErrorRef to) const;
  void commit(std::size_t tasks) const {
    Error error;
    commit(tasks, error);
    throw_if(error);
  }

  /// Drops all that was written.
  void abort() const noexcept { discard(staging_); }

  /// Drops what an attempt wrote.
  DISTRIB_DECL static void discard(const std::string& directory) noexcept;

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

  DISTRIB_DECL static void touch(const std::string& path, Error& error);

  static void rename(const std::string& from, const std::string& to, unsigned flags, Error& error) {
    error = {};
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) != 0) error = {detail::last_os_error(), to};
  }

  /// Moves files below `from` to the same place below `to`, but none that a dead attempt left half written.
  DISTRIB_DECL static void merge(const std::string& from, const std::string& to, Error& error);

  DISTRIB_DECL void publish(Error& error) const;

  /// There is a table at the path.
  DISTRIB_DECL void replace(Error& error) const;

  std::string path_;
  std::string id_;
  SaveMode mode_;
  std::string staging_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/impl/spark_write_job.ipp>
#endif
