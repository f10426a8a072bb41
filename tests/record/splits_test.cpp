// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/splits.hpp>

#include "record/files.hpp"
#include "record/large_file.hpp"
#include "record/random_files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

using distrib::find_split;
using distrib::record_errc;
using distrib::RecordSplit;
using distrib::split_file;

namespace {

/// Returns the split of [begin, end), from what is known of the file.
auto true_split(const support::RandomFile& file, std::uint64_t begin, std::uint64_t end) -> RecordSplit {
  const auto at_or_behind = [&](std::uint64_t offset) {
    return static_cast<std::uint64_t>(std::lower_bound(file.offsets.begin(), file.offsets.end(), offset) -
                                      file.offsets.begin());
  };
  const std::uint64_t first = std::min<std::uint64_t>(at_or_behind(begin), file.records());
  const std::uint64_t last = std::min<std::uint64_t>(at_or_behind(end), file.records());
  return {file.offsets[first], file.offsets[last], last - first, first};
}

/// Compares two splits. Where they begin and end does not matter if they have no records.
auto same_records(const RecordSplit& one, const RecordSplit& other) -> bool {
  return one.records == other.records && (one.records == 0 || (one.first == other.first && one.end == other.end));
}

/// Guesses and stitches the splits at `borders`, and compares them with what is known. Returns the number of wrong
/// guesses.
auto check_stitched(const support::RandomFile& file, const std::vector<std::uint64_t>& borders) -> std::size_t {
  std::vector<RecordSplit> splits(borders.size() - 1);
  for (std::size_t k = 0; k < splits.size(); ++k)
    splits[k] = distrib::detail::guess_split(file.view(), borders[k], borders[k + 1]);
  const std::size_t wrong = distrib::stitch_splits(file.view(), borders, splits);
  std::uint64_t at = 0;
  for (std::size_t k = 0; k < splits.size(); ++k) {
    const RecordSplit expected = true_split(file, borders[k], borders[k + 1]);
    if (!same_records(splits[k], expected) || splits[k].number != expected.number || splits[k].first != at ||
        splits[k].broken || splits[k].uncertain)
      FAIL_CHECK("split " << k << " of " << splits.size());
    at = splits[k].end;
  }
  CHECK(at == file.bytes.size());
  return wrong;
}

auto random_borders(std::mt19937& random, std::uint64_t size, std::size_t parts) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> borders{0, size};
  while (borders.size() < parts + 1) borders.push_back(random() % (size + 1));
  std::sort(borders.begin(), borders.end());
  return borders;
}

/// Runs the jobs on two threads, the odd ones from the last to the first.
constexpr auto on_threads = [](std::size_t count, auto&& job) {
  std::thread odd{[&] {
    for (std::size_t k = count; k-- > 0;)
      if (k % 2 == 1) job(k);
  }};
  for (std::size_t k = 0; k < count; k += 2) job(k);
  odd.join();
};

}  // namespace

TEST_CASE("stitch_splits: 1000 random splits of ordinary files, no guess is wrong", "[record][splits]") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const support::RandomFile file = support::ordinary_file(seed, 500, 100 * seed);
    CHECK(check_stitched(file, random_borders(random, file.bytes.size(), 50)) == 0);
  }
}

TEST_CASE("stitch_splits: 1000 random splits of nested files", "[record][splits]") {
  std::size_t wrong = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const support::RandomFile file = support::nested_file(seed, 100);
    wrong += check_stitched(file, random_borders(random, file.bytes.size(), 50));
  }
  CAPTURE(wrong);
  CHECK(wrong < 100);
}

TEST_CASE("stitch_splits: 1 to 1000 parts, also more parts than bytes", "[record][splits]") {
  const support::RandomFile ordinary = support::ordinary_file(1, 2000, 300);
  const support::RandomFile nested = support::nested_file(2, 2000);
  const support::RandomFile small = support::ordinary_file(3, 3, 20);
  for (const std::uint64_t parts : {1U, 8U, 64U, 512U, 1000U}) {
    CAPTURE(parts);
    for (const support::RandomFile* file : {&ordinary, &nested, &small}) {
      std::vector<std::uint64_t> borders;
      for (std::uint64_t k = 0; k <= parts; ++k) borders.push_back(distrib::split_border(file->bytes.size(), parts, k));
      const std::size_t wrong = check_stitched(*file, borders);
      if (file != &nested) CHECK(wrong == 0);
    }
  }
}

TEST_CASE("stitch_splits: the result is exact for any guesses", "[record][splits]") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const support::RandomFile file = support::ordinary_file(seed, 40, 60);
    const std::vector<std::uint64_t> borders = random_borders(random, file.bytes.size(), 10);
    std::vector<RecordSplit> splits(10);
    for (RecordSplit& split : splits)
      split = {random() % 4000, random() % 4000, random() % 50, random() % 9, random() % 2 == 0, random() % 2 == 0};
    splits[3] = true_split(file, borders[3], borders[4]);
    distrib::stitch_splits(file.view(), borders, splits);
    for (std::size_t k = 0; k < splits.size(); ++k) {
      const RecordSplit expected = true_split(file, borders[k], borders[k + 1]);
      CHECK(same_records(splits[k], expected));
      CHECK(splits[k].number == expected.number);
    }
  }
}

TEST_CASE("stitch_splits: a record of more than 2 GiB", "[record][splits]") {
  const support::LargeFile file;
  const std::uint64_t size = file.bytes().size();
  const std::vector<std::uint64_t> borders{0, size - (1 << 20), size};  // in the large record, near its end to be quick
  std::vector<RecordSplit> splits(2);
  for (std::size_t k = 0; k < splits.size(); ++k)
    splits[k] = distrib::detail::guess_split(file.bytes(), borders[k], borders[k + 1]);
  CHECK(distrib::stitch_splits(file.bytes(), borders, splits) == 0);
  CHECK(splits[0] == RecordSplit{0, size - 20, 2, 0});
  CHECK(splits[1] == RecordSplit{size - 20, size, 1, 2});
}

TEST_CASE("find_split: every range of a small file", "[record][splits]") {
  const support::RandomFile file = support::ordinary_file(8, 12, 30);
  const std::uint64_t size = file.bytes.size();
  for (std::uint64_t begin = 0; begin <= size + 1; ++begin)
    for (std::uint64_t end = begin; end <= size + 1; ++end) {
      const RecordSplit split = find_split(file.view(), begin, end);
      if (!same_records(split, true_split(file, begin, end)) || split.broken || split.uncertain)
        FAIL_CHECK("from " << begin << " to " << end);
    }
}

TEST_CASE("find_split: ranges of nested files", "[record][splits]") {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const support::RandomFile file = support::nested_file(seed, 60);
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t begin = random() % file.bytes.size();
      const std::uint64_t end = begin + random() % 2000;  // the range may lie inside one record
      const RecordSplit split = find_split(file.view(), begin, end);
      if (!same_records(split, true_split(file, begin, end)) || split.uncertain)
        FAIL_CHECK("from " << begin << " to " << end);
    }
  }
}

TEST_CASE("find_split: marks what is not certain", "[record][splits]") {
  support::RandomFile file = support::ordinary_file(5, 40, 60);
  file.bytes[file.offsets[30]] ^= 1;
  const RecordSplit before = find_split(file.view(), file.offsets[9] + 1, file.offsets[20]);
  CHECK(before.first == file.offsets[10]);
  CHECK(before.records == 10);
  CHECK(before.uncertain);
  CHECK_FALSE(before.broken);
  // record 31 is certain, record 29 is not
  CHECK(find_split(file.view(), file.offsets[29], file.offsets[35]).uncertain);
  CHECK_FALSE(find_split(file.view(), file.offsets[30], file.offsets[35]).uncertain);
  const RecordSplit behind = find_split(file.view(), file.offsets[31], file.offsets[35]);
  CHECK(behind.records == 4);
  CHECK_FALSE(behind.uncertain);
  const RecordSplit start = find_split(file.view(), 0, file.bytes.size());
  CHECK(start.end == file.offsets[30]);
  CHECK(start.records == 30);
  CHECK(start.broken);

  // A file with a cut end: no chain leads to the end.
  const distrib::ByteView cut = file.view().subspan(file.offsets[31]).first(file.offsets[39] - file.offsets[31] + 4);
  CHECK(find_split(cut, 5, cut.size()).uncertain);
}

TEST_CASE("find_split: TFRecords in the middle of a payload", "[record][splits]") {
  support::RandomFile file;
  file.add("a");
  const std::string inner = support::framed("inner one") + support::framed("inner two");
  file.add(std::string(100, '<') + inner + std::string(100, '>'));
  file.add("b");
  for (std::uint64_t begin = 1; begin < file.bytes.size(); ++begin)
    for (const std::uint64_t end : {std::uint64_t{100}, std::uint64_t{140}, std::uint64_t{170}, file.bytes.size()}) {
      if (end < begin) continue;
      const RecordSplit split = find_split(file.view(), begin, end);
      if (!same_records(split, true_split(file, begin, end)) || split.uncertain)
        FAIL_CHECK("from " << begin << " to " << end);
    }
  file.bytes[file.offsets[1]] ^= 1;  // the record around them is damaged: now it cannot be certain
  CHECK(find_split(file.view(), 40, 140).uncertain);
}

TEST_CASE("find_split: thousands of headers that lead to the same position", "[record][splits]") {
  constexpr std::uint64_t headers = 1000;
  constexpr std::uint64_t place = headers * 12 + 100;
  std::string text;
  for (std::uint64_t i = 0; i < headers; ++i) text += support::header_of(place - 16 - i * 12);
  text += support::framed("inner");
  text.resize(place, '.');
  text += support::framed("outer");
  const RecordSplit split = find_split(distrib::as_bytes(text), headers * 12, text.size());
  CHECK(split.first == headers * 12);
  CHECK(split.uncertain);  // given up after some of them
}

TEST_CASE("split_file: the same splits in any order and on any threads", "[record][splits]") {
  const support::TempDirectory directory;
  const support::RandomFile file = support::nested_file(6, 300);
  support::write_file(directory / "file", file.bytes);
  for (const std::size_t parts : {1U, 2U, 7U, 64U}) {
    const distrib::FileSplits one = split_file(directory / "file", parts, distrib::RunInOrder{});
    const distrib::FileSplits other = split_file(directory / "file", parts, on_threads);
    CHECK(one.splits == other.splits);
    CHECK(one.wrong_guesses == other.wrong_guesses);
    REQUIRE(one.splits.size() == parts);
    std::uint64_t records = 0;
    for (const RecordSplit& split : one.splits) records += split.records;
    CHECK(records == 300);
  }
}

TEST_CASE("split_file: an empty file, and a file of one record", "[record][splits]") {
  const support::TempDirectory directory;
  support::write_file(directory / "empty", "");
  for (const RecordSplit& split : split_file(directory / "empty", 3, distrib::RunInOrder{}).splits)
    CHECK(split == RecordSplit{});
  support::write_file(directory / "one", support::framed(std::string(1000, 'x')));
  const std::vector<RecordSplit> one = split_file(directory / "one", 3, distrib::RunInOrder{}).splits;
  CHECK(one[0] == RecordSplit{0, 1016, 1});
  CHECK(one[1] == RecordSplit{1016, 1016, 0, 1});
  CHECK(one[2] == RecordSplit{1016, 1016, 0, 1});
}

TEST_CASE("split_file: damage is reported once, with the records before it", "[record][splits]") {
  const support::TempDirectory directory;
  const support::RandomFile file = support::ordinary_file(4, 100, 80);
  const std::string path = directory / "file";
  struct Row {
    std::string bytes;
    record_errc code;
    std::size_t record;
  };
  std::string flipped = file.bytes;
  flipped[file.offsets[60] + 9] ^= 1;
  const Row rows[] = {
      {flipped, record_errc::corrupt_length, 60},
      {file.bytes.substr(0, file.offsets[70] + 5), record_errc::truncated_header, 70},
      {file.bytes.substr(0, file.offsets[71] - 1), record_errc::truncated_payload, 70},
      {"no records at all, this is text", record_errc::corrupt_length, 0},
  };
  for (const Row& row : rows) {
    support::write_file(path, row.bytes);
    for (const std::size_t parts : {1U, 5U, 50U}) {
      CAPTURE(parts, row.record);
      distrib::Error error;
      const std::vector<RecordSplit> splits = split_file(path, parts, distrib::RunInOrder{}, error).splits;
      CHECK(error.code == row.code);
      CHECK(error.where == distrib::detail::record_where(path, row.record, file.offsets[row.record]));
      std::uint64_t records = 0;
      std::size_t broken = 0;
      for (const RecordSplit& split : splits) {
        CHECK_FALSE(split.uncertain);
        records += split.records;
        broken += split.broken ? 1 : 0;
      }
      CHECK(records == row.record);
      CHECK(broken == 1);
    }
  }
}

TEST_CASE("split_file: files that cannot be split", "[record][splits]") {
  distrib::Error error;
  CHECK(split_file(support::fixture("example.tfrecord.gz"), 2, distrib::RunInOrder{}, error).splits.empty());
  CHECK(error.code == record_errc::compressed);
  CHECK(split_file(support::fixture("example.tfrecord"), 0, distrib::RunInOrder{}, error).splits.empty());
  CHECK(error.code == record_errc::bad_split);
  CHECK_THROWS_WITH(split_file(support::fixture("missing"), 2, distrib::RunInOrder{}),
                    ContainsSubstring("missing: No such file"));
  const support::TempDirectory directory;
  CHECK(split_file(directory.path(), 2, distrib::RunInOrder{}, error).splits.empty());
  CHECK(error.code == record_errc::not_regular);
}

TEST_CASE("split_border: parts differ by at most one byte, and nothing overflows", "[record][splits]") {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{1000}, ~std::uint64_t{0}})
    for (const std::uint64_t parts : {1U, 3U, 8U, 1000U}) {
      CHECK(distrib::split_border(size, parts, 0) == 0);
      CHECK(distrib::split_border(size, parts, parts) == size);
      for (std::uint64_t k = 0; k < parts; ++k) {
        const std::uint64_t part = distrib::split_border(size, parts, k + 1) - distrib::split_border(size, parts, k);
        if (part != size / parts && part != size / parts + 1) FAIL_CHECK(size << " by " << parts);
      }
    }
}
