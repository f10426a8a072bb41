// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/record_files.hpp>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/test_dir.hpp"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

using distrib::Compression;
using distrib::data_errc;
using distrib::Error;
using distrib::record_errc;
using distrib::RecordFiles;

namespace {

using Paths = std::vector<std::string>;

constexpr std::uint64_t plenty = 1 << 20;

auto open(const Paths& paths, std::uint64_t max_inflated_bytes = plenty) -> RecordFiles {
  Error error;
  RecordFiles files{paths, {max_inflated_bytes, false}, error};
  CHECK(!error);
  return files;
}

auto failure_of(const Paths& paths, std::uint64_t max_inflated_bytes = plenty) -> Error {
  Error error;
  const RecordFiles files{paths, {max_inflated_bytes, false}, error};
  return error;
}

}  // namespace

TEST_CASE("RecordFiles: plain and compressed files are one list of records", "[data]") {
  const support::TempDirectory directory;
  const Paths paths{directory / "a", directory / "empty", directory / "b", directory / "c"};
  files::write_items(paths[0], 0, 3);
  files::write_items(paths[1], 3, 3);
  files::write_items(paths[2], 3, 5, Compression::gzip);
  files::write_items(paths[3], 5, 9, Compression::zlib);
  files::write_items(directory / "whole", 0, 9);

  const RecordFiles all = open(paths);
  const RecordFiles whole = open({directory / "whole"});
  REQUIRE(all.size() == 9);
  Error error;
  for (std::uint64_t i = 0; i < 9; ++i)
    CHECK(distrib::as_text(all.at(i, error)) == distrib::as_text(whole.at(i, error)));
  CHECK(!error);
  const std::string frame = std::to_string(all.at(0, error).size() + 16);
  CHECK(all.where(1) == paths[0] + ": record 1 at offset " + frame);
  CHECK(all.where(4) == paths[2] + ": record 1 at offset " + frame);  // offset in the inflated bytes
}

TEST_CASE("RecordFiles: TensorFlow's files, compressed and not, are one data set", "[data]") {
  const std::string path = support::test_dir() + "/data/fixtures/example.tfrecord";
  const RecordFiles plain = open({path});
  const RecordFiles gzip = open({path + ".gz"});
  const RecordFiles zlib = open({path + ".zlib"});
  CHECK(plain.size() == 5);
  CHECK(gzip.fingerprint() == plain.fingerprint());
  CHECK(zlib.fingerprint() == plain.fingerprint());
  CHECK(open({path, path}).fingerprint() != plain.fingerprint());
  Error error;
  CHECK(distrib::as_text(gzip.at(3, error)) == distrib::as_text(plain.at(3, error)));
}

TEST_CASE("RecordFiles: the fingerprint depends on sizes and counts, not on places", "[data]") {
  const support::TempDirectory one;
  const support::TempDirectory other;
  files::write_items(one / "a", 0, 3);
  files::write_items(one / "b", 3, 5);
  files::write_items(other / "x", 0, 3);
  files::write_items(other / "y", 3, 5);
  const std::string fingerprint = open({one / "a", one / "b"}).fingerprint();
  CHECK(fingerprint.size() == 16);
  CHECK(open({other / "x", other / "y"}).fingerprint() == fingerprint);
  CHECK(open({other / "y", other / "x"}).fingerprint() != fingerprint);
}

TEST_CASE("RecordFiles: all compressed files share one limit", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a.gz", 0, 10, Compression::gzip);
  files::write_items(directory / "b.gz", 0, 10, Compression::gzip);
  files::write_items(directory / "a", 0, 10);
  const std::uint64_t needed = std::filesystem::file_size(directory / "a");
  CHECK(open({directory / "a.gz", directory / "b.gz"}, 2 * needed).size() == 20);
  const Error error = failure_of({directory / "a.gz", directory / "b.gz"}, 2 * needed - 1);
  CHECK(error.code == data_errc::inflated_too_large);
  CHECK(error.where == (directory / "b.gz").string());
  CHECK(failure_of({directory / "a.gz"}, 3).code == data_errc::inflated_too_large);  // less than one record
  files::write_items(directory / "empty.gz", 0, 0, Compression::gzip);
  CHECK(open({directory / "empty.gz"}, 0).size() == 0);
  CHECK(failure_of({directory / "a"}, 0).code == std::error_code{});  // plain files do not count
}

TEST_CASE("RecordFiles: opening finds damaged headers and damaged compressed data", "[data]") {
  const support::TempDirectory directory;
  const Paths good{directory / "good"};
  files::write_items(good[0], 0, 3);
  files::write_items(directory / "bad", 0, 3);
  files::write_items(directory / "bad.gz", 0, 3, Compression::gzip);
  const std::uint64_t frame = std::filesystem::file_size(directory / "bad") / 3;
  files::damage(directory / "bad", frame);
  files::damage(directory / "bad.gz", std::filesystem::file_size(directory / "bad.gz") - 6);

  const Error header = failure_of({good[0], directory / "bad"});
  CHECK(header.code == record_errc::corrupt_length);
  CHECK(header.where == (directory / "bad").string() + ": record 1 at offset " + std::to_string(frame));
  const Error compressed = failure_of({directory / "bad.gz"});
  CHECK(compressed.code == distrib::failure::corrupt);
  CHECK_THAT(compressed.where, ContainsSubstring("bad.gz"));
  const Error missing = failure_of({directory / "missing"});
  CHECK(missing.code == std::errc::no_such_file_or_directory);
  CHECK(missing.where == (directory / "missing").string());
}

TEST_CASE("RecordFiles: reading a record finds its damaged payload", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "bad", 0, 3);
  const std::uint64_t frame = std::filesystem::file_size(directory / "bad") / 3;
  files::damage(directory / "bad", frame + 20);
  const RecordFiles files = open({directory / "bad"});
  Error error;
  CHECK(!files.at(0, error).empty());
  CHECK(!error);
  CHECK(files.at(1, error).empty());
  CHECK(error.code == record_errc::corrupt_payload);
  CHECK(error.where == (directory / "bad").string() + ": record 1 at offset " + std::to_string(frame));
}
