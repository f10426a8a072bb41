// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/stream_log_files.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/stream_file.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
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

DISTRIB_DECL auto stream_log_name(std::uint64_t version) -> std::string {
  const std::string digits = std::to_string(version);
  std::string name{stream_log_stem};
  return name.append(stream_log_digits - std::min(digits.size(), stream_log_digits), '0').append(digits);
}

}  // namespace detail

DISTRIB_DECL StreamLogFiles::StreamLogFiles(std::string name, OpenObjectStore open)
    : name_{std::move(name)},
      home_{detail::is_url(name_) ? detail::AnyLogHome{detail::StoreHome{name_, std::move(open)}}
                                  : detail::AnyLogHome{detail::DirectoryHome{name_}}} {}

// Returns 0 if there is no version.
DISTRIB_DECL auto StreamLogFiles::newest_version(Error& error) -> std::uint64_t {
  std::uint64_t newest = 0;
  for (const std::string& name : home_.names(error))
    newest = std::max(newest, detail::stream_log_version(name).value_or(0));
  return newest;
}

// Reads the newest version, unless it is known.
DISTRIB_DECL void StreamLogFiles::update(Error& error) {
  int vanished = 0;
  for (std::uint64_t version = newest_version(error); !error && version > version_; version = newest_version(error)) {
    const std::string name = detail::stream_log_name(version);
    const std::vector<std::byte> bytes = home_.read(name, error);
    // There may be so many newer ones that it was removed.
    if (error.code == failure::not_found && ++vanished < 1'000) continue;
    if (error) return;
    std::error_code ec;
    std::optional<StreamFile> file = parse_stream_file(bytes, ec);
    if (file && file->log == nullptr) ec = stream_errc::bad_log;
    if (ec) return void(error = {ec, home_.place(name)});
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
    const std::string name = detail::stream_log_name(version);
    const std::vector<std::byte> bytes = to_bytes(StreamFile{next->id(), next, true});
    const bool is_added = home_.add(name, bytes, error);
    if (error) return nullptr;
    if (!is_added) continue;
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

// Removes versions that no process reads any more, and what killed processes have left. Failures do no harm.
DISTRIB_DECL void StreamLogFiles::remove_old() {
  Error ignored;
  for (const std::string& name : home_.names(ignored)) {
    const std::size_t digits = detail::stream_log_stem.size() + detail::stream_log_digits;
    const bool is_hidden = name.starts_with('.') && name.size() > digits + 1;
    const auto version = detail::stream_log_version(is_hidden ? std::string_view{name}.substr(1, digits) : name);
    if (version && *version + kept_versions <= version_) home_.remove(name);
  }
}

}  // namespace v0
}  // namespace distrib
