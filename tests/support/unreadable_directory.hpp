// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temp_directory.hpp"

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace support {

/// A directory in which the calling thread may create files, and which it may not read. Root may read every directory:
/// while the object exists, the thread of a process of root uses files as another user.
class UnreadableDirectory {
 public:
  UnreadableDirectory() {
    check(::mkdir(path_.c_str(), 0700));
    check(::chmod(above_.path().c_str(), 0711));
    if (is_root_) check(::chown(path_.c_str(), other_user, static_cast<::gid_t>(-1)));
    check(::chmod(path_.c_str(), 0300));
    if (is_root_) ::setfsuid(other_user);
  }
  UnreadableDirectory(const UnreadableDirectory&) = delete;
  ~UnreadableDirectory() {
    if (is_root_) ::setfsuid(0);
    ::chmod(path_.c_str(), 0700);  // so that its files can be removed
  }

  [[nodiscard]] auto path() const -> const std::string& { return path_; }

 private:
  static constexpr ::uid_t other_user = 65534;

  void check(int result) const {
    if (result != 0) throw std::system_error(errno, std::generic_category(), path_);
  }

  TempDirectory above_;
  std::string path_ = above_ / "directory";
  bool is_root_ = ::geteuid() == 0;
};

}  // namespace support
