// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/files.hpp>

#include <distrib/core/paths.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto read_up_to(const std::string& path, std::size_t most, std::error_code& ec) -> std::string {
  FileDescriptor file{path, O_RDONLY, ec};
  std::string text;
  std::array<char, 4096> block;
  while (!ec && text.size() < most) {
    const std::span room{block.data(), std::min(block.size(), most - text.size())};
    const std::size_t count = file.read(std::as_writable_bytes(room), ec);
    if (count == 0) break;
    text.append(block.data(), count);
  }
  return text;
}

DISTRIB_DECL auto list_directory(const std::string& path, std::error_code& ec) -> std::vector<std::string> {
  std::vector<std::string> names;
  ::DIR* const directory = ::opendir(path.c_str());
  ec = directory == nullptr ? last_os_error() : std::error_code{};
  if (directory == nullptr) return names;
  errno = 0;
  while (const ::dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) ec = last_os_error();
  ::closedir(directory);
  return names;
}

DISTRIB_DECL auto create_new_file(const std::string& stem, std::error_code& ec) -> NewFile {
  for (std::size_t number = 0;; ++number) {
    std::string path = stem + std::to_string(number);
    FileDescriptor file{path, O_WRONLY | O_CREAT | O_EXCL, ec};
    if (ec != std::errc::file_exists) return {std::move(path), std::move(file)};
  }
}

// Returns the beginning of the names of hidden files beside `path`; a number follows.
DISTRIB_DECL auto hidden_stem(const std::string& path) -> std::string {
  std::string stem = path;
  stem.insert(path.size() - file_of(path).size(), 1, '.');
  return stem + ".tmp" + std::to_string(::getpid()) + "-";
}

DISTRIB_DECL auto create_hidden_file(const std::string& path, std::error_code& ec) -> NewFile {
  return create_new_file(hidden_stem(path), ec);
}

// Returns a path of an open file that link(2) can follow, also if the file has no name.
DISTRIB_DECL auto path_of_open_file(const FileDescriptor& file) -> std::string {
  return "/proc/self/fd/" + std::to_string(file.get());
}

DISTRIB_DECL auto create_unnamed_file(const std::string& path, std::error_code& ec) -> NewFile {
  FileDescriptor file{directory_of(path), O_WRONLY | O_TMPFILE, ec};
  if (!ec && path_exists(path_of_open_file(file))) return {{}, std::move(file)};
  return create_hidden_file(path, ec);
}

DISTRIB_DECL void give_name(const NewFile& made, const std::string& path, std::error_code& ec) {
  ec.clear();
  std::string hidden = made.path;
  // A link replaces no file, a rename does: so a file without a name is linked to a hidden name first.
  for (std::size_t number = 0; hidden.empty(); ++number) {
    std::string name = hidden_stem(path) + std::to_string(number);
    const std::string open_file = path_of_open_file(made.file);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) hidden = std::move(name);
    else if (errno != EEXIST) return void(ec = last_os_error());
  }
  // After the link, because a file system may ignore fsync for a file without a name (btrfs).
  if (::fsync(made.file.get()) != 0 || std::rename(hidden.c_str(), path.c_str()) != 0) ec = last_os_error();
  if (ec) ::unlink(hidden.c_str());
}

DISTRIB_DECL void sync_name(const std::string& path, std::error_code& ec) noexcept {
  sync_path(directory_of(path), O_RDONLY | O_DIRECTORY, ec);
  if (ec != std::errc::permission_denied) return;
  // A directory that may be written and not read cannot be opened: so make the whole file system durable.
  const FileDescriptor file{path, O_RDONLY, ec};
  if (!ec && ::syncfs(file.get()) != 0) ec = last_os_error();
}

DISTRIB_DECL auto absolute_path(const std::string& path) -> std::string {
  std::string here(4096, '\0');
  if (path.empty() || path.front() == '/' || ::getcwd(here.data(), here.size()) == nullptr) return path;
  here.resize(here.find('\0'));
  return join_path(here, path);
}

DISTRIB_DECL void make_directories(const std::string& path, std::error_code& ec) {
  ec.clear();
  std::size_t slash = 0;
  while (slash != std::string::npos) {
    slash = path.find('/', slash + 1);
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0777) == 0) {
      sync_name(part, ec);
      if (ec) return;
      continue;
    }
    // Above the last part this is no reason to stop: the process may be forbidden to create a directory that exists.
    ec = last_os_error();
    if (is_directory(part)) ec.clear();
    if (ec == std::errc::file_exists) ec = std::make_error_code(std::errc::not_a_directory);
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
