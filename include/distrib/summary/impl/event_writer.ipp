// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/event_writer.hpp>

#include <distrib/core/crc32c.hpp>
#include <distrib/core/files.hpp>
#include <distrib/record/frame.hpp>

#include <unistd.h>

#include <array>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void EventWriter::flush(std::error_code& ec) {
  if (!error_ && !in_memory_) writer_->flush(ec);
  remember(ec);
  if (error_ || in_memory_ || detail::path_exists(path_)) return;
  open(directory_);
  ec = error_.code;
}

// As in TensorFlow 2, process id and a counter follow the host name.
DISTRIB_DECL auto EventWriter::begin_of_name(const std::string& directory) -> std::string {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  const auto name = detail::event_file_name(directory, static_cast<std::int64_t>(now()), host.data());
  return name + '.' + std::to_string(::getpid()) + '.';
}

DISTRIB_DECL auto EventWriter::in_memory(const std::string& directory) -> EventWriter {
  EventWriter writer;
  writer.in_memory_ = true;
  writer.directory_ = directory;
  writer.path_ = begin_of_name(directory) + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  write_version_event(writer.event_, now());
  std::error_code ec;
  writer.keep(writer.event_.view(), ec);
  return writer;
}

// Appends a record: see record/frame.hpp.
DISTRIB_DECL void EventWriter::keep(ByteView event, std::error_code& ec) {
  ec.clear();
  std::array<std::byte, record_header_bytes> header{};
  store_le<std::uint64_t>(header.data(), event.size());
  store_le<std::uint32_t>(header.data() + 8, mask_crc(crc32c(ByteView{header}.first(8))));
  std::array<std::byte, record_footer_bytes> footer{};
  store_le<std::uint32_t>(footer.data(), mask_crc(crc32c(event)));
  memory_.insert(memory_.end(), header.begin(), header.end());
  memory_.insert(memory_.end(), event.begin(), event.end());
  memory_.insert(memory_.end(), footer.begin(), footer.end());
}

DISTRIB_DECL void EventWriter::open(std::string directory) {
  std::error_code ec;
  directory_ = std::move(directory);
  detail::make_directories(directory_, ec);
  if (ec) {
    error_ = {ec, directory_};
    return;
  }
  path_ = detail::create_new_file(begin_of_name(directory_), ec).path;
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
