// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/resync.hpp>

#include "record/files.hpp"
#include "record/random_files.hpp"
#include "support/catch.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

using distrib::ByteView;
using distrib::RecordFinder;

namespace {

/// A copy that ends where its memory ends, so that a sanitizer notices reading beyond it.
struct Exact {
  explicit Exact(std::string_view text) : memory{new std::byte[text.size()]}, size{text.size()} {
    if (size != 0) std::memcpy(memory.get(), text.data(), size);
  }
  [[nodiscard]] auto view() const -> ByteView { return {memory.get(), size}; }
  std::unique_ptr<std::byte[]> memory;
  std::size_t size;
};

/// Returns what `find_header` promises, by trying every offset.
auto plain_search(ByteView file, std::uint64_t from, std::uint64_t to) -> std::uint64_t {
  for (; from < to && from < file.size(); ++from)
    if (distrib::detail::frame_at(file, from)) return from;
  return distrib::detail::no_offset;
}

}  // namespace

TEST_CASE("find_header: each implementation finds what trying every offset finds", "[record][resync]") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    std::string text(random() % 400, '\0');
    const auto kind = random() % 4;  // zeros, small numbers, rare bytes, noise
    for (std::size_t i = 0; i < text.size(); ++i)
      if (kind == 3 || (kind == 1 && i % 8 == 0) || (kind == 2 && random() % 9 == 0))
        text[i] = static_cast<char>(random());
    for (auto planted = random() % 3; planted > 0; --planted) {
      const std::string record = support::framed(std::string(random() % 3, 'a'));
      if (text.size() > record.size()) text.replace(random() % (text.size() - record.size()), record.size(), record);
    }
    const Exact file{text};
    const std::uint64_t to = random() % 4 == 0 ? random() % 400 : ~std::uint64_t{0};
    for (std::uint64_t from = 0; from <= file.size; ++from) {
      const std::uint64_t expected = plain_search(file.view(), from, to);
      if (distrib::detail::find_header(file.view(), from, to) != expected) {
        CAPTURE(from, to);
        CHECK(distrib::detail::find_header(file.view(), from, to) == expected);
      }
      const std::uint64_t end = std::min<std::uint64_t>(to, file.size >= 16 ? file.size - 15 : 0);
      if (from < end && distrib::detail::find_header_portable(file.view(), from, end) != expected) {
        CAPTURE(from, to);
        CHECK(distrib::detail::find_header_portable(file.view(), from, end) == expected);
      }
    }
  }
}

TEST_CASE("find_header: lengths up to every size that a file may have", "[record][resync]") {
  // There are no files of these sizes, so only the filter is tested: it knows the size, and must let all possible
  // lengths pass.
  for (int bits = 4; bits < 56; ++bits) {
    CAPTURE(bits);
    const std::uint64_t longest = (std::uint64_t{1} << bits) + 5;
    const distrib::detail::LengthFilter filter{static_cast<std::size_t>(longest + 16)};
    const auto passes = [&](std::uint64_t length) {
      unsigned char bytes[8];
      std::memcpy(bytes, &length, 8);
      for (const std::size_t i : filter.zero)
        if (bytes[i] != 0) return false;
      return bytes[filter.top_index] <= filter.top;
    };
    CHECK(passes(0));
    CHECK(passes(longest / 2));
    CHECK(passes(longest));
    CHECK_FALSE(passes(std::max<std::uint64_t>(longest * 256, std::uint64_t{1} << 32)));
    CHECK_FALSE(passes(~std::uint64_t{0}));
  }
}

TEST_CASE("walk_headers: stops at an offset, after a number of records, at the end or at damage", "[record][resync]") {
  const std::string text = support::framed("hello") + support::framed("") + support::framed("world!");
  const ByteView file = distrib::as_bytes(text);
  const auto whole = distrib::walk_headers(file, 0);
  CHECK(whole.offset == text.size());
  CHECK(whole.records == 3);
  CHECK_FALSE(whole.broken);
  CHECK(distrib::walk_headers(file, 0, 22).offset == 37);
  CHECK(distrib::walk_headers(file, 0, 21).records == 1);
  CHECK(distrib::walk_headers(file, 0, 0).records == 0);
  CHECK(distrib::walk_headers(file, 21, ~std::uint64_t{0}, 1).offset == 37);
  CHECK(distrib::walk_headers(file, text.size()).records == 0);
  CHECK_FALSE(distrib::walk_headers(file, text.size()).broken);
  CHECK(distrib::walk_headers(file, text.size() + 1).broken);
  CHECK(distrib::walk_headers(file, 1).broken);
  const auto cut = distrib::walk_headers(file.first(text.size() - 1), 0);
  CHECK(cut.broken);
  CHECK(cut.offset == 37);
  CHECK(cut.records == 2);
}

TEST_CASE("RecordFinder: finds the next record from every offset of an ordinary file", "[record][resync]") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    CAPTURE(seed);
    const support::RandomFile file = support::ordinary_file(seed, 60, 200);
    for (std::uint64_t from = 0; from <= file.bytes.size(); ++from) {
      const std::uint64_t expected = file.first_from(from);
      RecordFinder finder{file.view()};
      const auto next = finder.next(from);
      const auto chained = finder.next_chained(from);
      const bool right = expected == file.bytes.size()
                             ? !next && !chained
                             : next && chained && next->offset == expected && chained->offset == expected &&
                                   next->chain_reaches_end && next->chain_end == file.bytes.size();
      if (!right) FAIL_CHECK("from " << from);
    }
  }
}

TEST_CASE("RecordFinder: in a nested file only the chain finds the right record", "[record][resync]") {
  const support::RandomFile file = support::nested_file(5, 60);
  std::size_t misled = 0;
  for (std::uint64_t from = 0; from < file.bytes.size(); from += 17) {
    RecordFinder finder{file.view()};
    const auto next = finder.next(from);
    const auto chained = finder.next_chained(from);
    const std::uint64_t expected = file.first_from(from);
    if (next && next->offset != expected) {
      ++misled;
      CHECK_FALSE(next->chain_reaches_end);
    }
    CHECK((chained ? chained->offset : file.bytes.size()) == expected);
    // Here a short chain is an inner one more often than not; a chain of 31 records cannot be.
    const auto enough = finder.next_chained(from, ~std::uint64_t{0}, 31);
    CHECK((enough ? enough->offset : file.bytes.size()) == expected);
  }
  CHECK(misled > 100);
}

TEST_CASE("RecordFinder: finds records before and after damage", "[record][resync]") {
  support::RandomFile file = support::ordinary_file(9, 40, 100);
  file.bytes[file.offsets[20] + 3] ^= 1;  // the header of record 20
  RecordFinder finder{file.view()};
  const auto before = finder.next(file.offsets[4] + 1);
  REQUIRE(before);
  CHECK(before->offset == file.offsets[5]);
  CHECK(before->chain_end == file.offsets[20]);
  CHECK_FALSE(before->chain_reaches_end);
  const auto behind = finder.next(file.offsets[20]);
  REQUIRE(behind);
  CHECK(behind->offset == file.offsets[21]);
  CHECK(behind->chain_reaches_end);
  CHECK(finder.next_chained(0).value().offset == file.offsets[21]);
  CHECK_FALSE(finder.next_chained(0, file.offsets[20]));
  CHECK(finder.next_chained(0, file.offsets[20], 10).value().offset == 0);

  file.bytes[file.offsets[31] + 12] ^= 1;  // in a payload: no valid record begins there, but the chain continues
  RecordFinder again{file.view()};
  CHECK(again.next(file.offsets[31]).value().offset == file.offsets[32]);
  CHECK_FALSE(again.exhausted());
}

TEST_CASE("RecordFinder: finds nothing where there is no record", "[record][resync]") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{5000}}) {
    const std::string zeros(size, '\0');
    RecordFinder finder{distrib::as_bytes(zeros)};
    CHECK_FALSE(finder.next(0));
    CHECK_FALSE(finder.next_chained(0));
    CHECK_FALSE(finder.next(size + 1));
    CHECK_FALSE(finder.next(~std::uint64_t{0}));
  }
  const std::string text = support::framed("abc");
  RecordFinder finder{distrib::as_bytes(text)};
  CHECK(finder.next(0, 1).value().offset == 0);
  CHECK_FALSE(finder.next(0, 0));
  CHECK_FALSE(finder.next(1, 0));
}

TEST_CASE("RecordFinder: gives up in files that were made to cost much", "[record][resync]") {
  // A header every 12 bytes, whose length leads exactly to the end, so that for each the rest must be verified.
  std::string text;
  constexpr std::size_t headers = 200'000;
  for (std::size_t i = 0; i < headers; ++i) text += support::header_of((headers - i - 1) * 12);
  text += "ABCD";
  RecordFinder finder{distrib::as_bytes(text)};
  CHECK_FALSE(finder.next(0));
  CHECK(finder.exhausted());
  CHECK_FALSE(finder.next(0));  // and it does not start again
  RecordFinder other{distrib::as_bytes(text)};
  CHECK_FALSE(other.next_chained(0));
  CHECK(other.exhausted());
}

TEST_CASE("RecordFinder: many searches over a damaged file cost no more than one", "[record][resync]") {
  support::RandomFile file = support::ordinary_file(11, 20'000, 30);
  for (std::size_t i = 99; i < file.records(); i += 100) file.bytes[file.offsets[i] + 2] ^= 1;
  RecordFinder finder{file.view()};
  std::size_t found = 0;
  std::uint64_t at = 0;
  while (const auto start = finder.next(at)) {
    CHECK(start->offset == file.offsets[100 * found]);
    ++found;
    at = start->chain_end + 1;
  }
  CHECK(found == 200);
  CHECK_FALSE(finder.exhausted());
  // The search for a chain to the end walks each broken chain once.
  RecordFinder chained{file.view()};
  CHECK_FALSE(chained.next_chained(0));
  CHECK_FALSE(chained.exhausted());
}

TEST_CASE("RecordFinder: payloads of 8 bytes look like headers", "[record][resync]") {
  std::mt19937 random{3};
  support::RandomFile file;
  for (std::size_t i = 0; i < 20'000; ++i) {
    std::string payload(8, '\0');
    const std::uint64_t number = random() % 480'000;  // less than the size of the file
    std::memcpy(payload.data(), &number, 8);
    file.add(payload);
  }
  CHECK(distrib::detail::find_header(file.view(), 1, ~std::uint64_t{0}) == 12);
  RecordFinder chained{file.view()};
  RecordFinder finder{file.view()};
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t from = 4800 * i + 1;
    CHECK(chained.next_chained(from, ~std::uint64_t{0}, 100).value().offset == (from + 23) / 24 * 24);
    if (i < 3) CHECK(finder.next(from).value().offset == (from + 23) / 24 * 24);
  }
  CHECK_FALSE(chained.exhausted());
  // now no chain reaches the end, and the search cannot find that out within its budget
  file.bytes[file.offsets[19'999] + 1] ^= 1;
  RecordFinder broken{file.view()};
  CHECK_FALSE(broken.next_chained(0));
  CHECK(broken.next_chained(0, 1000, 100).has_value() != broken.exhausted());
}
