// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/perform.hpp>

#include <distrib/core/bytes.hpp>

#include <fcntl.h>

#include <cstdio>
#include <vector>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void perform(const FileAction& action, ErrorRef to) {
  detail::ErrorOut error{to};
  using Kind = FileAction::Kind;
  std::error_code ec;
  if (action.kind == Kind::write || action.kind == Kind::append) {
    const int flags = action.kind == Kind::write ? O_CREAT | O_TRUNC : O_APPEND;
    detail::FileDescriptor file{action.path, O_WRONLY | flags, ec};
    for (const ByteView view : action.views)
      if (!ec) file.write(view, ec);
    if (!ec) file.write(action.owned, ec);
    if (!ec) file.close(ec);
  } else if (action.kind == Kind::sync) {
    detail::sync_path(action.path, O_RDONLY, ec);
  } else if (action.kind == Kind::sync_directory) {
    detail::sync_path(action.path, O_RDONLY | O_DIRECTORY, ec);
  } else if (action.kind == Kind::rename) {
    if (std::rename(action.from.c_str(), action.path.c_str()) != 0) ec = detail::last_os_error();
  } else if (action.kind == Kind::link) {
    if (::link(action.from.c_str(), action.path.c_str()) != 0 && errno != EEXIST) ec = detail::last_os_error();
  } else if (::unlink(action.path.c_str()) != 0 && errno != ENOENT) {
    ec = detail::last_os_error();
  }
  if (ec) error = detail::cannot_write(action.path, ec);
}

DISTRIB_DECL void perform(std::span<const FileAction> plan, ErrorRef to) {
  detail::ErrorOut error{to};
  using Kind = FileAction::Kind;
  std::vector<const std::string*> written;
  for (const FileAction& action : plan) {
    perform(action, error);
    // after another failure of `write` the file may not even be open
    const bool is_written = !error || error.code == checkpoint_errc::no_room;
    if (action.kind == Kind::write && is_written) written.push_back(&action.path);
    if (error) break;
    if (action.kind == Kind::rename)
      std::erase_if(written, [&](const auto* path) { return *path == action.from || *path == action.path; });
  }
  for (const std::string* path : written)
    if (error) ::unlink(path->c_str());
}

}  // namespace v0
}  // namespace distrib
