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
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What to do if the path already exists.
enum class SaveMode : std::uint8_t {
  error_if_exists,  ///< Fail with `spark_errc::already_exists`; the old table stays.
  append,  ///< Add files to the old table. (The connector refuses this mode.)
  /// Replace the old table in one step. (Spark deletes the old table first.) On file systems without RENAME_EXCHANGE,
  /// such as NFS, in two: for a moment there is no table at the path, and if the process is killed in that moment, none
  /// until `commit` or `abort` of the same job is called. The old one is then whole at ".NAME.ID.old".
  overwrite,
  ignore,  ///< Keep the old table and write nothing.
};

/// Returns a random UUID as the name of a job: "4d274d58-6c10-42bc-8c93-7bbedf02c998". Throws `std::system_error` if
/// the operating system has no random numbers.
[[nodiscard]] DISTRIB_DECL auto draw_job_id() -> std::string;

/// A directory that several tasks write together, also from different processes, so that readers see all of it or
/// nothing. Everything is written beside the path, into a hidden directory (".NAME.ID"):
///
/// 1. The coordinator calls `start()` and passes path, id and mode to the tasks.
/// 2. Each attempt at a task writes into its own directory (`begin_task`; SparkWriter does this) and calls
///    `commit_task`. The first attempt that commits is the task's result; later ones are dropped, and files of an
///    attempt that never commits are ignored.
/// 3. The coordinator calls `commit(tasks)`, which collects the files of all tasks, adds _SUCCESS, with the id in it,
///    and renames the directory. If the process is killed meanwhile, `commit` or `abort` is called again, in another
///    process too: the path, id and mode are all that a job knows.
///
/// Errors: each function that can fail exists with an `ErrorRef`, which it sets, and without, when it throws
/// `std::system_error`. An error is a `spark_errc` or the operating system's code, with the path. `abort` and `discard`
/// report nothing: what they cannot remove stays.
///
/// A value. Threads: `begin_task` and `commit_task` may be called at the same time, also in different processes, and
/// for different attempts at one task. `start`, `commit` and `abort`: one at a time.
class SparkWriteJob {
 public:
  /// `id`: different for each job that writes to the path, as from `draw_job_id`.
  SparkWriteJob(std::string path, std::string id, SaveMode mode = SaveMode::error_if_exists)
      : path_{std::move(path)}, id_{std::move(id)}, mode_{mode} {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    staging_ = detail::directory_of(path_);
    staging_.append("/.").append(detail::file_of(path_)).append(".").append(id_);
  }

  /// Return the path (without a slash at its end), the id and the mode that the constructor was given.
  [[nodiscard]] auto path() const noexcept -> const std::string& { return path_; }
  [[nodiscard]] auto id() const noexcept -> const std::string& { return id_; }
  [[nodiscard]] auto mode() const noexcept -> SaveMode { return mode_; }

  /// Makes the hidden directory and returns true. Returns false without an error if the path exists and the mode is
  /// `ignore`: then nothing is to be written.
  ///
  /// Errors: returns false; `spark_errc::already_exists` if the path exists and the mode is `error_if_exists`;
  /// `used_id` if the table at the path is that of an earlier job with this id; `half_replaced` with the place of the
  /// old table if another job was killed while it replaced the table (see `SaveMode::overwrite`; it is not found if the
  /// id of that job contains a dot).
  [[nodiscard]] DISTRIB_DECL auto start(ErrorRef to) const -> bool;
  [[nodiscard]] auto start() const -> bool {
    Error error;
    return detail::or_throw(start(error), error);
  }

  /// Makes a new directory for an attempt at a task and returns its path. Errors: the operating system's code, with the
  /// path; the result then has no meaning.
  [[nodiscard]] DISTRIB_DECL auto begin_task(std::size_t task, ErrorRef to) const -> std::string;
  [[nodiscard]] auto begin_task(std::size_t task) const -> std::string {
    Error error;
    return detail::or_throw(begin_task(task, error), error);
  }

  /// Makes the files of an attempt the result of the task; it may have none. `attempt`: the path that `begin_task`
  /// returned for this task; its files must be closed. If another attempt at the task was committed before, removes
  /// this one instead: that is no failure, and the caller is not told.
  ///
  /// Errors: the operating system's code, with the path. An attempt that does not exist is such a failure, so an
  /// attempt cannot be committed twice. After a failure the attempt may be committed nevertheless, if only the
  /// directory could not be synced.
  DISTRIB_DECL void commit_task(std::size_t task, const std::string& attempt, ErrorRef to) const;
  void commit_task(std::size_t task, const std::string& attempt) const {
    Error error;
    commit_task(task, attempt, error);
    throw_if(error);
  }

  /// Publishes the table of the tasks 0 .. tasks - 1 at the path. If the path exists now, the mode decides (see
  /// `SaveMode`); `ignore` drops everything that was written. May be called again at any time: if the table at the path
  /// is the one that this job has published, that only removes what is left of the hidden directory.
  ///
  /// Errors: `spark_errc::unfinished` with the number of the first task below `tasks` that is not committed, or with
  /// the hidden directory if it has no tasks: the job was not started, was aborted, or was committed and another job
  /// has written to the path since. `already_exists` if the path was created meanwhile and the mode is
  /// `error_if_exists`. The hidden directory then stays.
  DISTRIB_DECL void commit(std::size_t tasks, ErrorRef to) const;
  void commit(std::size_t tasks) const {
    Error error;
    commit(tasks, error);
    throw_if(error);
  }

  /// Removes the hidden directory with everything that was not published. If a commit was killed while it replaced the
  /// old table, and there is none at the path now, the old one comes back. May be called again, and after `commit`: a
  /// table that was published stays. Call it when no task writes any more, because `begin_task` makes the hidden
  /// directory again. Ignores errors: what cannot be removed stays.
  DISTRIB_DECL void abort() const noexcept;

  /// Removes the directory of an attempt. Ignores errors.
  DISTRIB_DECL static void discard(const std::string& directory) noexcept;

 private:
  [[nodiscard]] auto temporary() const -> std::string { return detail::join_path(staging_, "_temporary"); }

  /// Returns where an old table is while a new one takes its place in two steps. What is there is always whole.
  [[nodiscard]] auto aside() const -> std::string { return staging_ + ".old"; }

  /// Returns the content of _SUCCESS. (Spark's own is empty.)
  [[nodiscard]] auto success() const -> std::string { return id_ + '\n'; }

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

  /// True if the directory is the whole table of this job: it has a _SUCCESS with the id of the job.
  [[nodiscard]] DISTRIB_DECL auto has_table(const std::string& directory) const -> bool;

  /// Makes `directory` the whole table of this job.
  DISTRIB_DECL void mark(const std::string& directory, Error& error) const;

  /// Moves the files of the tasks into one directory and marks it.
  DISTRIB_DECL void collect(std::size_t tasks, Error& error) const;

  static void rename(const std::string& from, const std::string& to, unsigned flags, Error& error) {
    error = {};
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) != 0) error = {detail::last_os_error(), to};
  }

  /// True if `rename` failed because the file system does not know its flags.
  static auto is_unsupported(const Error& error) noexcept -> bool {
    return error.code == std::errc::invalid_argument || error.code == std::errc::function_not_supported ||
           error.code == std::errc::not_supported;
  }

  /// Renames a directory that is not empty if nothing is at `to`. Otherwise sets `error` to `std::errc::file_exists`.
  DISTRIB_DECL static void rename_new(const std::string& from, const std::string& to, Error& error);

  /// Returns an old table that a killed job has moved aside; empty if there is none.
  [[nodiscard]] DISTRIB_DECL auto find_aside() const -> std::string;

  /// Moves the files below `from` to the same place below `to`, except hidden ones, which an aborted writer has left
  /// incomplete.
  DISTRIB_DECL static void merge(const std::string& from, const std::string& to, Error& error);

  DISTRIB_DECL void publish(Error& error) const;

  /// Publishes the table at a path that exists.
  DISTRIB_DECL void replace(Error& error) const;

  /// Puts the new table in the place of the old one by two renames. If the second fails, undoes the first.
  DISTRIB_DECL void replace_in_steps(Error& error) const;

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
