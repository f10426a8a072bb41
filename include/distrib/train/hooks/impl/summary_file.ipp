// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/summary_file.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void SummaryFile::write(const std::function<void(EventWriter&, std::error_code&)>& add, bool closes) {
  if (detail::is_url(directory_)) return write_in_memory(add, closes);
  std::error_code ec;
  const bool begins = writer_ == nullptr;
  if (begins) writer_ = std::make_shared<EventWriter>(directory_, ec);
  if (!ec) add(*writer_, ec);
  if (!ec) closes ? writer_->close(ec) : writer_->flush(ec);
  is_full_ = is_full_ && ec;
  if (!ec) return;
  const auto failed = std::exchange(writer_, nullptr);
  if (ec.value() != ENOSPC && ec.value() != EDQUOT) throw_if(failed->error());
  if (begins) std::remove(failed->path().c_str());
  if (std::exchange(is_full_, true)) return;
  report_ = Event{Event::Kind::no_room,
                  {},
                  failed->error().where,
                  ec,
                  "no space for summaries in " + directory_ + " (" + ec.message() +
                      "): the training continues without them; when there is space again, they continue in a new file"};
}

DISTRIB_DECL void SummaryFile::write_in_memory(const std::function<void(EventWriter&, std::error_code&)>& add,
                                               bool closes) {
  if (!uploads_) uploads_ = std::make_shared<ObjectUploads>(directory_, open_);
  if (!writer_) writer_ = std::make_shared<EventWriter>(EventWriter::in_memory({}));
  std::error_code none;
  add(*writer_, none);
  if (!closes) return;
  upload();
  uploads_->finish(std::chrono::seconds{30});
}

DISTRIB_DECL void SummaryFile::upload() {
  if (uploads_ && writer_) uploads_->put(std::string{detail::file_of(writer_->path())}, writer_->bytes());
}

}  // namespace v0
}  // namespace distrib
