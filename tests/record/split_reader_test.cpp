// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/split_reader.hpp>

#include "record/files.hpp"
#include "record/random_files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <utility>

using distrib::record_errc;
using distrib::RecordSplit;
using distrib::SplitReader;

TEST_CASE("SplitReader: the splits of a file hold each record once, in order", "[record][split_reader]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  for (const support::RandomFile& file : {support::ordinary_file(1, 500, 100), support::nested_file(1, 200)}) {
    support::write_file(path, file.bytes);
    for (const std::size_t parts : {1U, 2U, 8U, 64U, 512U}) {
      CAPTURE(parts);
      std::uint64_t records = 0;
      bool same = true;
      for (const RecordSplit& split : distrib::split_file(path, parts, distrib::RunInOrder{}).splits) {
        for (const distrib::Record& record : SplitReader{path, split}) {
          same = same && record.number == records && record.offset == file.offsets[records] &&
                 distrib::as_text(record.bytes) ==
                     std::string_view{file.bytes}.substr(file.offsets[records] + 12,
                                                         file.offsets[records + 1] - file.offsets[records] - 16);
          ++records;
        }
      }
      CHECK(same);
      CHECK(records == file.records());
    }
  }
}

TEST_CASE("SplitReader: tasks that do not know each other read each record once", "[record][split_reader]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  const support::RandomFile file = support::nested_file(3, 200);
  support::write_file(path, file.bytes);
  const distrib::MappedFile mapping{path};
  std::uint64_t records = 0;
  for (std::uint64_t task = 0; task < 40; ++task) {
    const RecordSplit split = distrib::find_split(mapping.bytes(), distrib::split_border(file.bytes.size(), 40, task),
                                                  distrib::split_border(file.bytes.size(), 40, task + 1));
    for (const distrib::Record& record : SplitReader{path, split}) {
      CHECK(record.offset == file.offsets[records]);
      ++records;
    }
  }
  CHECK(records == file.records());
}

TEST_CASE("SplitReader: a damaged payload fails where it is", "[record][split_reader]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  support::write_file(path, support::framed("one") + support::framed("two") + support::framed("three"));
  const std::vector<RecordSplit> splits = distrib::split_file(path, 2, distrib::RunInOrder{}).splits;
  REQUIRE(splits[0] == RecordSplit{0, 38, 2});
  std::string bytes = support::read_file(path);
  bytes[19 + 12] = 'T';
  support::write_file(path, bytes);
  SplitReader reader{path, splits[0]};
  CHECK(distrib::as_text(reader.try_next().value().bytes) == "one");
  CHECK(reader.offset() == 19);
  CHECK(reader.number() == 1);
  CHECK_FALSE(reader.try_next());
  CHECK(reader.error().code == record_errc::corrupt_payload);
  CHECK(reader.error().where == path + ": record 1 at offset 19");
  CHECK_FALSE(reader.try_next());  // the failure is final
  SplitReader other{path, splits[1]};
  CHECK(other.try_next().value().number == 2);
  CHECK_FALSE(other.try_next());
  CHECK_FALSE(other.error());
}

TEST_CASE("SplitReader: damage after a split is reported by that split only", "[record][split_reader]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  support::write_file(path, support::framed("one") + support::framed("two") + "cut");
  distrib::Error error;
  const std::vector<RecordSplit> splits = distrib::split_file(path, 4, distrib::RunInOrder{}, error).splits;
  CHECK(error.code == record_errc::truncated_header);
  std::uint64_t records = 0;
  std::size_t failures = 0;
  for (const RecordSplit& split : splits) {
    SplitReader reader{path, split};
    while (reader.try_next()) ++records;
    if (reader.error()) {
      CHECK(reader.error().code == record_errc::truncated_header);
      CHECK(reader.error().where == path + ": record 2 at offset 38");
      ++failures;
    }
  }
  CHECK(records == 2);
  CHECK(failures == 1);
}

TEST_CASE("SplitReader: splits that do not fit the file", "[record][split_reader]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  support::write_file(path, support::framed("one") + support::framed("two"));
  std::error_code ec;
  const auto fails_with = [&](const RecordSplit& split) {
    SplitReader reader{path, split, ec};
    CHECK(reader.error().code == ec);
    CHECK_FALSE(reader.try_next());
    return ec;
  };
  CHECK(fails_with({0, 39, 2}) == record_errc::bad_split);
  CHECK(fails_with({19, 0, 2}) == record_errc::bad_split);
  CHECK(fails_with({~std::uint64_t{0}, ~std::uint64_t{0}, 2}) == record_errc::bad_split);
  CHECK(fails_with({0, 19, 1, 0, false, true}) == record_errc::uncertain_split);
  CHECK_THROWS_WITH((SplitReader{path, {0, 19, 1, 0, false, true}}),
                    ContainsSubstring("file: 0 to 19: it is not certain where the records of this split begin"));
  CHECK_THROWS_WITH((SplitReader{path + ".no", {}}), ContainsSubstring("No such file"));

  for (const RecordSplit& split : {RecordSplit{0, 18, 1}, RecordSplit{0, 25, 2}}) {  // they end inside a record
    SplitReader reader{path, split, ec};
    CHECK_FALSE(ec);
    while (reader.try_next()) {
    }
    CHECK(reader.error().code == record_errc::bad_split);
  }
  SplitReader inside{path, {3, 19, 1}};
  CHECK_FALSE(inside.try_next());
  CHECK(inside.error().code == record_errc::corrupt_length);
  SplitReader broken{path, {0, 19, 1, 0, true}};  // the file was repaired since it was split
  CHECK(broken.try_next());
  CHECK_FALSE(broken.try_next());
  CHECK(broken.error().code == record_errc::bad_split);
  SplitReader empty{path, {38, 38}};
  CHECK_FALSE(empty.try_next());
  CHECK_FALSE(empty.error());
}

TEST_CASE("SplitReader: records stay valid when the reader is moved", "[record][split_reader]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  support::write_file(path, support::framed("one") + support::framed("two"));
  SplitReader first{path, {0, 38, 2}};
  const distrib::Record one = first.try_next().value();
  SplitReader second{std::move(first)};
  CHECK(distrib::as_text(second.try_next().value().bytes) == "two");
  CHECK(distrib::as_text(one.bytes) == "one");
}
