// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/perform.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/paths.hpp>

#include <fcntl.h>

#include <cstdio>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

// `file`: a file in the directory of a `sync_directory`; empty if none is known.
DISTRIB_DECL void perform_action(const FileAction& action, const std::string& file, Error& error) {
  error = {};
  using Kind = FileAction::Kind;
  std::error_code ec;
  if (action.kind == Kind::write || action.kind == Kind::append) {
    const int flags = action.kind == Kind::write ? O_CREAT | O_TRUNC : O_APPEND;
    FileDescriptor written{action.path, O_WRONLY | flags, ec};
    for (const ByteView view : action.views)
      if (!ec) written.write(view, ec);
    if (!ec) written.write(action.owned, ec);
    if (!ec) written.close(ec);
  } else if (action.kind == Kind::sync) {
    sync_path(action.path, O_RDONLY, ec);
  } else if (action.kind == Kind::sync_directory) {
    if (!file.empty() && directory_of(file) == action.path) sync_name(file, ec);
    else sync_path(action.path, O_RDONLY | O_DIRECTORY, ec);
  } else if (action.kind == Kind::rename) {
    if (std::rename(action.from.c_str(), action.path.c_str()) != 0) ec = last_os_error();
  } else if (action.kind == Kind::link) {
    if (::link(action.from.c_str(), action.path.c_str()) != 0 && errno != EEXIST) ec = last_os_error();
  } else if (::unlink(action.path.c_str()) != 0 && errno != ENOENT) {
    ec = last_os_error();
  }
  if (ec) error = cannot_write(action.path, ec);
}

}  // namespace detail

DISTRIB_DECL void perform(const FileAction& action, ErrorRef to) {
  detail::ErrorOut error{to};
  detail::perform_action(action, {}, error);
}

DISTRIB_DECL void perform(std::span<const FileAction> plan, ErrorRef to) {
  detail::ErrorOut error{to};
  using Kind = FileAction::Kind;
  std::vector<const std::string*> written;
  std::string named;  // the last file that got its name; empty if that file was removed
  for (const FileAction& action : plan) {
    detail::perform_action(action, named, error);
    // after another failure of `write` the file may not even be open
    const bool is_written = !error || error.code == checkpoint_errc::no_room;
    if (action.kind == Kind::write && is_written) written.push_back(&action.path);
    if (error) break;
    if (action.kind == Kind::write || action.kind == Kind::rename || action.kind == Kind::link) named = action.path;
    else if (action.kind == Kind::remove && action.path == named) named.clear();
    if (action.kind == Kind::rename)
      std::erase_if(written, [&](const auto* path) { return *path == action.from || *path == action.path; });
  }
  for (const std::string* path : written)
    if (error) ::unlink(path->c_str());
}

}  // namespace v0
}  // namespace distrib
