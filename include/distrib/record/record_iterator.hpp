// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>

#include <cstddef>
#include <iterator>

namespace distrib {
inline namespace v0 {

/// Input iterator over the records that a reader has not returned yet. Throws `std::system_error` when the reader
/// fails. Must not be used after the reader was moved.
///
/// `Reader` has to declare it a friend, and to have `step()`: returns the next record, which stays in the reader until
/// the next call; null at the end, and after a failure, when `error()` is set.
template <class Reader> class RecordIterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = Record;

  explicit RecordIterator(Reader& reader) : reader_{&reader} { ++*this; }

  [[nodiscard]] auto operator*() const noexcept -> const Record& { return *record_; }
  [[nodiscard]] auto operator->() const noexcept -> const Record* { return record_; }
  auto operator++() -> RecordIterator& {
    record_ = reader_->step();
    if (record_ == nullptr) throw_if(reader_->error());
    return *this;
  }
  void operator++(int) { ++*this; }
  [[nodiscard]] auto operator==(std::default_sentinel_t) const noexcept -> bool { return record_ == nullptr; }

 private:
  Reader* reader_;
  const Record* record_ = nullptr;
};

}  // namespace v0
}  // namespace distrib
