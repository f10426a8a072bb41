// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/data/url_files.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/ranged_file.hpp>

#include <fcntl.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The bytes of a file of this machine, a `ByteSource`.
class LocalBytes {
 public:
  explicit LocalBytes(std::string path) : path_{std::move(path)} {}
  [[nodiscard]] auto read(std::span<std::byte> to, Error& error) -> std::size_t {
    error = {};
    if (!file_.is_open()) file_ = FileDescriptor{path_, O_RDONLY, error.code};
    const std::size_t count = error ? 0 : file_.read(to, error.code);
    if (error) error.where = path_;
    return count;
  }

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace detail

/// Record files by their names, which may be paths and URLs, mixed as well: `RangedFiles`. A value. Made by
/// `tfrecords_at`.
class NamedFiles {
 public:
  /// For `tfrecords_at`, which makes it. Reads nothing.
  NamedFiles(std::vector<std::string> names, UrlOptions options)
      : names_{std::move(names)}, urls_{{}, std::move(options)} {}

  /// Returns the first name, a URL without its query; "no name" if there is none.
  [[nodiscard]] auto name() const -> std::string {
    return names_.empty() ? "no name" : detail::shown_name(names_.front());
  }

  /// Returns the files that the names stand for: see `find_files` and `UrlFiles`.
  [[nodiscard]] auto find(Error& error) const -> std::vector<std::string> {
    error = {};
    std::vector<std::string> found;
    for (const std::string& name : names_) {
      std::vector<std::string> more =
          is_remote_url(name) ? urls_.find(name, error) : find_files(std::vector{name}, error);
      if (error) return {};
      found.insert(found.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    if (names_.empty()) error = {data_errc::no_files, "no name was given"};
    return found;
  }

  /// Returns a file. Reads nothing before its first `read`, which reports the errors.
  [[nodiscard]] auto open(const std::string& name) const -> AnyByteSource {
    return is_remote_url(name) ? urls_.open(name) : AnyByteSource{detail::LocalBytes{name}};
  }

  /// Opens a remote file for reading any part of it. Returns nothing for a file of this machine, which is mapped
  /// instead, and on failure, which it reports by `error`.
  [[nodiscard]] auto ranged(const std::string& name, Error& error) const -> std::optional<RangedFile> {
    error = {};
    return is_remote_url(name) ? urls_.ranged(name, error) : std::nullopt;
  }

 private:
  std::vector<std::string> names_;
  UrlFiles urls_;
};

/// Returns the data set of the record files that `names` stand for, wherever they are, so that a program can leave that
/// to a flag: paths, as for `tfrecords`, and URLs, as for `files_at`. Same records, same bits.
///
///     const auto digits = tfrecords_at({flags.data}, {.pool = &waiting}).schema(...).shuffle(7).batch(64);
[[nodiscard]] inline auto tfrecords_at(std::vector<std::string> names, UrlOptions options = {})
    -> RemoteTfRecords<NamedFiles> {
  return RemoteTfRecords<NamedFiles>{NamedFiles{std::move(names), std::move(options)}};
}

}  // namespace v0
}  // namespace distrib
