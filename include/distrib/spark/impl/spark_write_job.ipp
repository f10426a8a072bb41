// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_write_job.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/spark/spark_error.hpp>

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto draw_job_id() -> std::string {
  Nonce nonce = draw_nonce();
  const auto bytes = std::span{nonce}.first<16>();
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
  else if (has_table(path_)) error = {spark_errc::used_id, path_ + ": " + id_};
  else if (const std::string old = exists ? std::string{} : find_aside(); !old.empty())
    error = {spark_errc::half_replaced, old};
  if (!error) make(temporary(), error);
  return !error;
}

DISTRIB_DECL auto SparkWriteJob::begin_task(std::size_t task, ErrorRef to) const -> std::string {
  detail::ErrorOut error{to};
  std::string directory = temporary() + "/attempt-" + number(task) + "-" + draw_job_id();
  make(directory, error);
  if (error) return directory;
  // rename(2) replaces an empty directory, so a committed attempt must not be one.
  const std::string never_empty = detail::join_path(directory, ".attempt");
  const detail::FileDescriptor file{never_empty, O_WRONLY | O_CREAT, error.code};
  if (error) error.where = never_empty;
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
  if (!has_table(path_)) {  // otherwise an earlier call was interrupted after this
    if (mode_ == SaveMode::ignore && detail::path_exists(path_)) return abort();
    if (!has_table(staging_)) collect(tasks, error);
    if (!error) discard(temporary());
    if (!error) publish(error);
  }
  if (!error) abort();  // removes the old table, or the rest of the hidden directory
}

DISTRIB_DECL void SparkWriteJob::collect(std::size_t tasks, Error& error) const {
  // What stands at the hidden path may be an old table, which this job has replaced: that has no tasks.
  if (!detail::is_directory(temporary())) error = {spark_errc::unfinished, temporary()};
  for (std::size_t task = 0; task < tasks && !error; ++task)
    if (!detail::is_directory(temporary() + "/task-" + number(task)))
      error = {spark_errc::unfinished, path_ + ": task " + std::to_string(task)};
  for (std::size_t task = 0; task < tasks && !error; ++task)
    merge(temporary() + "/task-" + number(task), staging_, error);
  if (!error) mark(staging_, error);
}

DISTRIB_DECL void SparkWriteJob::discard(const std::string& directory) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

DISTRIB_DECL auto SparkWriteJob::has_table(const std::string& directory) const -> bool {
  const std::string content = success();
  std::error_code ignored;
  return detail::read_up_to(detail::join_path(directory, "_SUCCESS"), content.size() + 1, ignored) == content;
}

DISTRIB_DECL void SparkWriteJob::mark(const std::string& directory, Error& error) const {
  const std::string path = detail::join_path(directory, "_SUCCESS");
  detail::FileDescriptor file{path, O_WRONLY | O_CREAT | O_TRUNC, error.code};
  if (!error) file.write(as_bytes(success()), error.code);
  if (!error && ::fsync(file.get()) != 0) error.code = detail::last_os_error();
  if (error) error.where = path;
  if (!error) sync(directory, error);
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

DISTRIB_DECL void SparkWriteJob::abort() const noexcept {
  Error ignored;
  rename_new(aside(), path_, ignored);
  discard(staging_);
  if (!has_table(path_)) return;
  rename(aside(), staging_, 0, ignored);
  discard(staging_);
}

DISTRIB_DECL void SparkWriteJob::rename_new(const std::string& from, const std::string& to, Error& error) {
  rename(from, to, RENAME_NOREPLACE, error);
  if (!is_unsupported(error)) return;
  error = {};
  if (detail::path_exists(to)) error = {std::make_error_code(std::errc::file_exists), to};
  else rename(from, to, 0, error);
  if (error.code == std::errc::directory_not_empty) error.code = std::make_error_code(std::errc::file_exists);
}

DISTRIB_DECL auto SparkWriteJob::find_aside() const -> std::string {
  const std::string directory = detail::directory_of(path_);
  const std::string begin = '.' + std::string{detail::file_of(path_)} + '.';
  constexpr std::string_view end = ".old";
  std::error_code ignored;
  for (const std::string& name : detail::list_directory(directory, ignored)) {
    if (name.size() < begin.size() + end.size() || !name.starts_with(begin) || !name.ends_with(end)) continue;
    const std::size_t dot = name.find('.', begin.size());  // of a table "NAME.MORE" it is another dot
    if (dot == name.size() - end.size()) return detail::join_path(directory, name);
  }
  return {};
}

DISTRIB_DECL void SparkWriteJob::publish(Error& error) const {
  rename_new(staging_, path_, error);
  if (error.code == std::errc::file_exists) replace(error);
  if (error) return;
  detail::sync_name(path_, error.code);
  if (error) error.where = path_;
}

DISTRIB_DECL void SparkWriteJob::replace(Error& error) const {
  error = {};
  switch (mode_) {
    case SaveMode::error_if_exists: error = {spark_errc::already_exists, path_}; return;
    case SaveMode::ignore: return;  // the path was created since `commit` looked
    case SaveMode::append:
      merge(staging_, path_, error);
      if (!error) mark(path_, error);
      return;
    case SaveMode::overwrite:
      rename(staging_, path_, RENAME_EXCHANGE, error);
      if (is_unsupported(error)) replace_in_steps(error);
  }
}

DISTRIB_DECL void SparkWriteJob::replace_in_steps(Error& error) const {
  // If an earlier commit was killed between the steps and another writer has written to the path since, the table that
  // is aside was replaced twice. It is moved before it is removed, so that what is aside is always whole.
  Error ignored;
  rename(aside(), temporary(), 0, ignored);
  discard(temporary());
  rename(path_, aside(), 0, error);
  if (!error) rename_new(staging_, path_, error);
  if (error) rename_new(aside(), path_, ignored);
}

}  // namespace v0
}  // namespace distrib
