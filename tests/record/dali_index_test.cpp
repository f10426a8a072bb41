// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/dali_index.hpp>

#include "record/files.hpp"
#include "record/random_files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using distrib::read_dali_index;
using distrib::record_errc;

namespace {

struct Files {
  explicit Files(std::string_view index, const std::string& records = support::framed("hello") + support::framed("")) {
    support::write_file(path, records);
    support::write_file(text_path, index);
  }
  support::TempDirectory directory;
  std::string path = directory / "a.tfrecord";
  std::string text_path = directory / "a.idx";
};

}  // namespace

TEST_CASE("dali_index: one line for each record, with offset and size of the frame", "[record][dali_index]") {
  const Files files{""};
  const distrib::RecordIndex index{files.path};
  CHECK(distrib::dali_index_text(index) == "0 21\n21 16\n");
  distrib::write_dali_index(index, files.text_path);
  CHECK(support::read_file(files.text_path) == "0 21\n21 16\n");
  const distrib::RecordIndex same = read_dali_index(files.path, files.text_path);
  CHECK(same.size() == 2);
  CHECK(distrib::as_text(same.at(0).bytes) == "hello");
  CHECK(same.at(1).offset == 21);
  CHECK(same.path() == files.path);

  const support::RandomFile file = support::ordinary_file(4, 300, 100);
  const Files many{"", file.bytes};
  distrib::write_dali_index(distrib::RecordIndex{many.path}, many.text_path);
  const distrib::RecordIndex read = read_dali_index(many.path, many.text_path);
  CHECK(std::equal(file.offsets.begin(), file.offsets.end(), read.offsets().begin(), read.offsets().end()));
}

TEST_CASE("dali_index: texts that fit the file, and texts that do not", "[record][dali_index]") {
  struct Row {
    std::string_view text;
    bool fits;
  };
  const Row rows[] = {
      {"0 21\n21 16\n", true},
      {"0 21\n21 16", true},
      {"0 21\r\n21 16\r\n", true},
      {"\n 0\t21 \n\n  21   16  \n\n", true},
      {"", false},
      {"0 21\n", false},
      {"21 16\n", false},
      {"21 16\n0 21\n", false},
      {"0 21\n21 16\n37 16\n", false},
      {"0 37\n", true},  // one record too few: noticed when that record is read
      {"0 20\n20 17\n", true},
      {"0 15\n15 22\n", false},
      {"0 21\n20 17\n", false},
      {"0 21\n22 15\n", false},
      {"0 21 5\n21 16\n", false},
      {"0\n21 16\n", false},
      {"0,21\n21,16\n", false},
      {"0 21x\n21 16\n", false},
      {"-0 21\n21 16\n", false},
      {"0 +21\n21 16\n", false},
      {"0 21.0\n21 16\n", false},
      {"0 18446744073709551615\n18446744073709551615 38\n", false},
      {"0 18446744073709551616\n", false},
      {std::string_view{"0 21\0\n21 16\n", 12}, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Files files{row.text};
    std::error_code ec;
    CHECK(read_dali_index(files.path, files.text_path, ec).has_value() == row.fits);
    CHECK((row.fits ? !ec : ec == record_errc::bad_index));
  }
}

TEST_CASE("dali_index: records are verified when they are read", "[record][dali_index]") {
  const Files files{"0 20\n20 17\n"};
  const distrib::RecordIndex index = read_dali_index(files.path, files.text_path);
  CHECK_THROWS_WITH(index.at(0), ContainsSubstring("record 0 at offset 0: the length does not match"));
  CHECK_THROWS_WITH(index.at(1), ContainsSubstring("record 1 at offset 20: the length does not match"));
}

TEST_CASE("dali_index: failures name the file", "[record][dali_index]") {
  const Files files{"0 21\n"};
  CHECK_THROWS_WITH(read_dali_index(files.path, files.text_path),
                    ContainsSubstring("a.idx, an index of ") && ContainsSubstring("the index does not fit the file"));
  CHECK_THROWS_WITH(read_dali_index(files.path, files.path + ".no"), ContainsSubstring("a.tfrecord.no: No such file"));
  CHECK_THROWS_WITH(read_dali_index(files.path + ".no", files.text_path), ContainsSubstring("a.tfrecord.no: No such"));
  const distrib::RecordIndex index{files.path};
  CHECK_THROWS_WITH(distrib::write_dali_index(index, files.directory / "no/a.idx"),
                    ContainsSubstring("no/a.idx: No such file"));
  std::error_code ec;
  distrib::write_dali_index(index, files.directory.path(), ec);
  CHECK(ec);
  CHECK(std::distance(std::filesystem::directory_iterator{files.directory.path()}, {}) == 2);
}
