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
  // As in TensorFlow 2, process id and a counter follow the host name.
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  const auto name = detail::event_file_name(directory_, static_cast<std::int64_t>(now()), host.data());
  path_ = detail::create_new_file(name + '.' + std::to_string(::getpid()) + '.', ec).path;
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

}  // namespace v0
}  // namespace distrib
