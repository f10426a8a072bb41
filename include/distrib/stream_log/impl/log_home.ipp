// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/log_home.hpp>

#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/files.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/second_write.hpp>
#include <distrib/stream_log/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto LogHomeFiles::names(const std::string& directory, std::error_code& ec) const
    -> std::vector<std::string> {
  std::vector<std::string> found = list_directory(directory, ec);
  if (ec == std::errc::no_such_file_or_directory) ec.clear();
  return found;
}

DISTRIB_DECL auto LogHomeFiles::read(const std::string& path, std::size_t most, std::error_code& ec) const
    -> std::vector<std::byte> {
  const std::string bytes = read_up_to(path, most, ec);
  const ByteView view = as_bytes(bytes);
  return {view.begin(), view.end()};
}

DISTRIB_DECL void LogHomeFiles::sync(const std::string& path, std::error_code& ec) const {
  detail::sync_path(path, O_RDONLY, ec);
}

DISTRIB_DECL void LogHomeFiles::sync_name(const std::string& path, std::error_code& ec) const {
  detail::sync_name(path, ec);
}

DISTRIB_DECL void LogHomeFiles::make_directories(const std::string& directory, std::error_code& ec) const {
  detail::make_directories(directory, ec);
}

DISTRIB_DECL auto LogHomeFiles::write_hidden(const std::string& path, ByteView bytes, std::error_code& ec) const
    -> std::string {
  NewFile made = create_hidden_file(path, ec);
  if (ec) return std::move(made.path);
  made.file.write(bytes, ec);
  if (!ec && ::fsync(made.file.get()) != 0) ec = last_os_error();
  if (ec) remove(made.path);
  return std::move(made.path);
}

DISTRIB_DECL void LogHomeFiles::link(const std::string& from, const std::string& to, std::error_code& ec) const {
  ec = ::link(from.c_str(), to.c_str()) == 0 ? std::error_code{} : last_os_error();
}

DISTRIB_DECL void LogHomeFiles::remove(const std::string& path) const { ::unlink(path.c_str()); }

DISTRIB_DECL auto StoreHome::is_open(Error& error) -> bool {
  error = {};
  if (opened_) return true;
  if (!open_) return error = {record_errc::no_object_store, shown_url(url_)}, false;
  ObjectDirectory directory = open_(url_, error);
  if (!error) opened_ = std::move(directory);
  return opened_.has_value();
}

DISTRIB_DECL auto StoreHome::place(const std::string& name) const -> std::string {
  return shown_url(url_) + "/" + name;
}

// Says where something failed, if the store did not.
DISTRIB_DECL void StoreHome::complete(const std::string& name, Error& error) const {
  if (error && error.where.find("://") == std::string::npos)
    error.where = place(name) + (error.where.empty() ? "" : " (" + error.where + ")");
}

DISTRIB_DECL auto StoreHome::names(Error& error) -> std::vector<std::string> {
  std::vector<std::string> found;
  if (!is_open(error)) return found;
  const std::string begin = key_of({});
  for (ObjectInfo& object : opened_->store.list(key_of("log-"), error))
    found.push_back(object.key.substr(begin.size()));
  complete({}, error);
  return found;
}

DISTRIB_DECL auto StoreHome::read(const std::string& name, Error& error) -> std::vector<std::byte> {
  std::vector<std::byte> bytes;
  if (!is_open(error)) return bytes;
  bytes = opened_->store.get(key_of(name), max_stream_file_bytes, error);
  complete(name, error);
  return bytes;
}

DISTRIB_DECL auto StoreHome::add(const std::string& name, ByteView bytes, Error& error) -> bool {
  if (!is_open(error)) return false;
  if (!has_conditions_) {
    has_conditions_ = refuses_second_write(opened_->store, key_of(".conditions"), error);
    if (!has_conditions_ && !error) error = {stream_errc::no_conditions, place(".conditions")};
    if (error) return complete(".conditions", error), false;
  }
  opened_->store.put_if_absent(key_of(name), bytes, error);
  if (error.code == failure::mismatch) {
    // It was there, also if an answer of an earlier request of this process was lost. If it is not, it was removed
    // meanwhile; a store that says so again and again refuses for another reason.
    Error missing;
    static_cast<void>(opened_->store.info(key_of(name), missing));
    refusals_ = missing.code == failure::not_found ? refusals_ + 1 : 0;
    if (refusals_ < 8) error = {};
    complete(name, error);
    return false;
  }
  complete(name, error);
  if (!error) refusals_ = 0;
  return !error;
}

DISTRIB_DECL void StoreHome::remove(const std::string& name) {
  Error ignored;
  if (is_open(ignored)) opened_->store.remove(key_of(name), ignored);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
