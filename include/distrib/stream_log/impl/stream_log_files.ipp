// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/stream_log_files.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/stream_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::string_view stream_log_stem = "log-";
inline constexpr std::size_t stream_log_digits = 20;

DISTRIB_DECL auto stream_log_version(std::string_view name) -> std::optional<std::uint64_t> {
  if (!name.starts_with(stream_log_stem) || name.size() != stream_log_stem.size() + stream_log_digits)
    return std::nullopt;
  const std::string_view digits = name.substr(stream_log_stem.size());
  std::uint64_t version = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (ec != std::errc{} || end != digits.data() + digits.size() || version == 0) return std::nullopt;
  return version;
}

}  // namespace detail

DISTRIB_DECL auto StreamLogFiles::path_of(std::uint64_t version) const -> std::string {
  const std::string digits = std::to_string(version);
  std::string name{detail::stream_log_stem};
  name.append(detail::stream_log_digits - std::min(digits.size(), detail::stream_log_digits), '0').append(digits);
  return detail::join_path(directory_, name);
}

// Returns 0 if there is no version.
DISTRIB_DECL auto StreamLogFiles::newest_version(Error& error) const -> std::uint64_t {
  std::error_code ec;
  std::uint64_t newest = 0;
  for (const std::string& name : detail::list_directory(directory_, ec))
    newest = std::max(newest, detail::stream_log_version(name).value_or(0));
  if (ec && ec != std::errc::no_such_file_or_directory) error = {ec, directory_};
  return newest;
}

// Reads the newest version, unless it is known.
DISTRIB_DECL void StreamLogFiles::update(Error& error) {
  int vanished = 0;
  for (std::uint64_t version = newest_version(error); !error && version > version_; version = newest_version(error)) {
    const std::string path = path_of(version);
    std::error_code ec;
    const std::string bytes = detail::read_up_to(path, max_stream_file_bytes + 1, ec);
    // There may be so many newer ones that it was removed.
    if (ec == std::errc::no_such_file_or_directory && ++vanished < 1'000) continue;
    if (!ec) detail::sync_path(path, O_RDONLY, ec);
    if (!ec) detail::sync_name(path, ec);
    if (ec) return void(error = {ec, path});
    std::optional<StreamFile> file = parse_stream_file(as_bytes(bytes), ec);
    if (file && file->log == nullptr) ec = stream_errc::bad_log;
    if (ec) return void(error = {ec, path});
    version_ = version;
    log_ = std::move(file->log);
  }
}

DISTRIB_DECL auto StreamLogFiles::read(ErrorRef to) -> SharedStreamLog {
  detail::ErrorOut error{to};
  update(error);
  return error ? nullptr : log_;
}

DISTRIB_DECL auto StreamLogFiles::change(const StreamLog& first, const std::function<void(StreamLog&)>& make,
                                         ErrorRef to) -> SharedStreamLog {
  detail::ErrorOut error{to};
  for (;;) {
    update(error);
    if (error) return nullptr;
    auto next = std::make_shared<StreamLog>(log_ == nullptr ? first : *log_);
    make(*next);
    const bool is_changed = log_ == nullptr || next->items() != log_->items() || next->kept_step() != log_->kept_step();
    if (!is_changed) return log_;
    const std::uint64_t version = version_ + 1;
    const bool is_linked = link_version(version, next, error);
    if (error) return nullptr;
    if (!is_linked) continue;
    // A process that slept for long may have made a version whose number is free again, because it was removed: then
    // there are much newer ones. Otherwise newer ones follow from this one.
    const std::uint64_t newest = newest_version(error);
    if (error) return nullptr;
    if (newest >= version + kept_versions) continue;
    version_ = version;
    log_ = std::move(next);
    update(error);
    if (error) return nullptr;
    remove_old();
    return log_;
  }
}

// Returns false if there is such a version.
DISTRIB_DECL auto StreamLogFiles::link_version(std::uint64_t version, const SharedStreamLog& log, Error& error)
    -> bool {
  std::error_code ec;
  detail::make_directories(directory_, ec);
  if (ec) return error = {ec, directory_}, false;
  const std::string path = path_of(version);
  detail::NewFile made = detail::create_hidden_file(path, ec);
  if (ec) return error = {ec, made.path}, false;
  const std::vector<std::byte> bytes = to_bytes(StreamFile{log->id(), log, true});
  made.file.write(bytes, ec);
  if (!ec && ::fsync(made.file.get()) != 0) ec = detail::last_os_error();
  bool is_linked = false;
  if (!ec) {
    is_linked = ::link(made.path.c_str(), path.c_str()) == 0;
    // The hidden file is gone if other processes have made many versions meanwhile: see `remove_old`.
    if (!is_linked && errno != EEXIST && errno != ENOENT) ec = detail::last_os_error();
  }
  ::unlink(made.path.c_str());
  if (!ec && is_linked) detail::sync_name(path, ec);
  if (ec) error = {ec, path};
  return is_linked && !ec;
}

// Removes versions that no process reads any more, and what killed processes have left. Failures do no harm.
DISTRIB_DECL void StreamLogFiles::remove_old() const {
  std::error_code ignored;
  for (const std::string& name : detail::list_directory(directory_, ignored)) {
    const std::size_t digits = detail::stream_log_stem.size() + detail::stream_log_digits;
    const bool is_hidden = name.starts_with('.') && name.size() > digits + 1;
    const auto version = detail::stream_log_version(is_hidden ? std::string_view{name}.substr(1, digits) : name);
    if (version && *version + kept_versions <= version_) ::unlink(detail::join_path(directory_, name).c_str());
  }
}

}  // namespace v0
}  // namespace distrib
