// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/event_writer.hpp>

#include <distrib/core/files.hpp>

#include <unistd.h>

#include <array>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void EventWriter::flush(std::error_code& ec) {
  if (!error_) writer_->flush(ec);
  remember(ec);
  if (error_ || detail::path_exists(path_)) return;
  open(directory_);
  ec = error_.code;
}

DISTRIB_DECL void EventWriter::open(std::string directory) {
  std::error_code ec;
  directory_ = std::move(directory);
  detail::make_directories(directory_, ec);
  if (ec) {
    error_ = {ec, directory_};
    return;
  }
  path_ = claim_file(directory_, ec);
  if (ec) {
    error_ = {ec, path_};
    return;
  }
  writer_.emplace(path_, RecordWriterOptions{}, ec);
  if (!ec) {
    write_version_event(event_, now());
    writer_->append(event_.view(), ec);
  }
  if (!ec) writer_->flush(ec);
  remember(ec);
}

// As in TensorFlow 2, process id and a counter follow the host name, so that two writers of the same second use
// different files. In two containers both host name and process id can be equal, so the file is created exclusively.
DISTRIB_DECL auto EventWriter::claim_file(const std::string& directory, std::error_code& ec) -> std::string {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  const auto name = detail::event_file_name(directory, static_cast<std::int64_t>(now()), host.data());
  for (int count = 0;; ++count) {
    std::string path = name + '.' + std::to_string(::getpid()) + '.' + std::to_string(count);
    const detail::FileDescriptor claimed{path, O_WRONLY | O_CREAT | O_EXCL, ec};
    if (ec != std::errc::file_exists) return path;
  }
}

}  // namespace v0
}  // namespace distrib
