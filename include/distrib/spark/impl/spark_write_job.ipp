// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_write_job.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/spark/spark_error.hpp>

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto draw_job_id() -> std::string {
  std::array<std::byte, 16> bytes{};
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<::ssize_t>(bytes.size()))
    if (errno != EINTR) throw_error(detail::last_os_error(), "random numbers");
  bytes[6] = (bytes[6] & std::byte{0x0F}) | std::byte{0x40};
  bytes[8] = (bytes[8] & std::byte{0x3F}) | std::byte{0x80};
  std::string id = to_hex(ByteView{bytes});
  for (const std::size_t dash : {8U, 13U, 18U, 23U}) id.insert(dash, 1, '-');
  return id;
}

DISTRIB_DECL auto SparkWriteJob::start(ErrorRef to) const -> bool {
  detail::ErrorOut error{to};
  const bool exists = detail::path_exists(path_);
  if (exists && mode_ == SaveMode::ignore) return false;
  if (exists && mode_ == SaveMode::error_if_exists) error = {spark_errc::already_exists, path_};
  if (!error) make(temporary(), error);
  return !error;
}

DISTRIB_DECL auto SparkWriteJob::begin_task(std::size_t task, ErrorRef to) const -> std::string {
  detail::ErrorOut error{to};
  std::string directory = temporary() + "/attempt-" + number(task) + "-" + draw_job_id();
  make(directory, error);
  return directory;
}

DISTRIB_DECL void SparkWriteJob::commit_task(std::size_t task, const std::string& attempt, ErrorRef to) const {
  detail::ErrorOut error{to};
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

DISTRIB_DECL void SparkWriteJob::commit(std::size_t tasks, ErrorRef to) const {
  detail::ErrorOut error{to};
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

DISTRIB_DECL void SparkWriteJob::discard(const std::string& directory) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

DISTRIB_DECL void SparkWriteJob::touch(const std::string& path, Error& error) {
  const detail::FileDescriptor file{path, O_WRONLY | O_CREAT, error.code};
  if (!error && ::fsync(file.get()) != 0) error.code = detail::last_os_error();
  if (error) error.where = path;
  if (!error) sync(detail::directory_of(path), error);
}

DISTRIB_DECL void SparkWriteJob::merge(const std::string& from, const std::string& to, Error& error) {
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

DISTRIB_DECL void SparkWriteJob::publish(Error& error) const {
  rename(staging_, path_, RENAME_NOREPLACE, error);
  if (error.code == std::errc::invalid_argument || error.code == std::errc::function_not_supported) {
    error = {};  // the file system does not support RENAME_NOREPLACE
    if (detail::path_exists(path_)) error.code = std::make_error_code(std::errc::file_exists);
    else rename(staging_, path_, 0, error);
  }
  if (error.code == std::errc::file_exists) replace(error);
  if (error) return;
  detail::sync_name(path_, error.code);
  if (error) error.where = path_;
}

DISTRIB_DECL void SparkWriteJob::replace(Error& error) const {
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
  if (!error) abort();  // removes the old table, or the rest of the hidden directory
}

}  // namespace v0
}  // namespace distrib
