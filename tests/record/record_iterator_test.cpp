// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/record_iterator.hpp>

#include "support/catch.hpp"

#include <iterator>
#include <string>
#include <system_error>

namespace {

/// Returns records 0, 1, 2; then ends, or fails.
class Reader {
 public:
  explicit Reader(std::error_code ends_with) : ends_with_{ends_with} {}
  auto error() const -> const distrib::Error& { return error_; }

 private:
  friend distrib::RecordIterator<Reader>;
  auto step() -> const distrib::Record* {
    if (next_ < 3) {
      record_.number = next_++;
      return &record_;
    }
    if (ends_with_) error_ = {ends_with_, "record 3"};
    return nullptr;
  }

  std::error_code ends_with_;
  std::uint64_t next_ = 0;
  distrib::Record record_;
  distrib::Error error_;
};

using Iterator = distrib::RecordIterator<Reader>;
static_assert(std::input_iterator<Iterator>);
static_assert(std::sentinel_for<std::default_sentinel_t, Iterator>);

}  // namespace

TEST_CASE("RecordIterator: ends where the reader ends", "[record]") {
  Reader reader{{}};
  std::uint64_t expected = 0;
  for (Iterator at{reader}; at != std::default_sentinel; ++at) CHECK(at->number == expected++);
  CHECK(expected == 3);
}

TEST_CASE("RecordIterator: throws the reader's failure, with its position", "[record]") {
  Reader reader{std::make_error_code(std::errc::io_error)};
  Iterator at{reader};
  ++at;
  at++;
  CHECK((*at).number == 2);
  CHECK_THROWS_WITH(++at, ContainsSubstring("record 3"));
  CHECK(at == std::default_sentinel);
}
