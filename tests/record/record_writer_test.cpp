// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/record_writer.hpp>

#include <distrib/record/record_reader.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <string>
#include <vector>

using distrib::as_bytes;
using distrib::Compression;
using distrib::record_errc;
using distrib::RecordWriter;

namespace {

auto payloads_of(const std::filesystem::path& path, const distrib::RecordReaderOptions& options = {})
    -> std::vector<std::string> {
  std::vector<std::string> payloads;
  for (const distrib::Record& record : distrib::RecordReader{path, options})
    payloads.emplace_back(distrib::as_text(record.bytes));
  return payloads;
}

auto files_in(const std::filesystem::path& directory) -> std::size_t {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{directory}, {}));
}

}  // namespace

TEST_CASE("RecordWriter: the bytes TensorFlow writes", "[record][record_writer]") {
  const support::TempDirectory directory;
  RecordWriter writer{directory / "file"};
  for (const std::string& payload : payloads_of(support::fixture("example.tfrecord"))) writer.append(as_bytes(payload));
  CHECK(writer.records() == 5);
  writer.close();
  CHECK(support::read_file(directory / "file") == support::read_file(support::fixture("example.tfrecord")));
}

TEST_CASE("RecordWriter: small and large records, every compression", "[record][record_writer]") {
  std::vector<std::string> payloads;
  for (const std::size_t size : {0U, 1U, 100U, 8191U, 8192U, 8193U, 262'144U, 3U, 700'000U})
    payloads.push_back(support::noise(size));
  for (int i = 0; i < 3000; ++i) payloads.push_back(std::to_string(i) + std::string(100, 'x'));  // fills the buffer
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    RecordWriter writer{directory / "file", {.compression = compression, .level = 1}};
    for (const std::string& payload : payloads) writer.append(as_bytes(payload));
    writer.close();
    const std::string head = support::read_file(directory / "file").substr(0, distrib::detection_bytes);
    CHECK(distrib::detect_compression(as_bytes(head)) == compression);
    CHECK((payloads_of(directory / "file") == payloads));
  }
}

TEST_CASE("RecordWriter: no records make a readable file", "[record][record_writer]") {
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    support::write_file(directory / "file", "what was there before");
    RecordWriter{directory / "file", {.compression = compression}}.close();
    CHECK(payloads_of(directory / "file").empty());
  }
}

TEST_CASE("RecordWriter: after flush others find the records", "[record][record_writer]") {
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    RecordWriter writer{directory / "file", {.compression = compression}};
    writer.append(as_bytes("one"));
    writer.flush();
    CHECK(payloads_of(directory / "file", {.cut_header_is_end = true}) == std::vector<std::string>{"one"});
    writer.append(as_bytes("two"));
    writer.flush();
    writer.flush();
    CHECK(payloads_of(directory / "file", {.cut_header_is_end = true}) == std::vector<std::string>{"one", "two"});
    writer.close();
    CHECK(payloads_of(directory / "file") == std::vector<std::string>{"one", "two"});
  }
}

TEST_CASE("RecordWriter: the destructor closes, also a moved one's", "[record][record_writer]") {
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    {
      RecordWriter first{directory / "file", {.compression = compression}};
      first.append(as_bytes("one"));
      RecordWriter second{std::move(first)};
      second.append(as_bytes("two"));
    }
    CHECK(payloads_of(directory / "file") == std::vector<std::string>{"one", "two"});
  }
}

TEST_CASE("RecordWriter: rename_on_close shows the whole file or none", "[record][record_writer]") {
  const support::TempDirectory directory;
  support::write_file(directory / "file", support::framed("old"));
  {
    RecordWriter abandoned{directory / "file", {.rename_on_close = true}};
    abandoned.append(as_bytes("new"));
    abandoned.flush();
    CHECK(files_in(directory.path()) == 2);
    CHECK(payloads_of(directory / "file") == std::vector<std::string>{"old"});
  }
  CHECK(files_in(directory.path()) == 1);
  CHECK(payloads_of(directory / "file") == std::vector<std::string>{"old"});

  RecordWriter writer{directory / "file", {.rename_on_close = true}};
  writer.append(as_bytes("new"));
  writer.close();
  CHECK(files_in(directory.path()) == 1);
  CHECK(payloads_of(directory / "file") == std::vector<std::string>{"new"});
}

TEST_CASE("RecordWriter: a name that cannot be taken leaves nothing behind", "[record][record_writer]") {
  const support::TempDirectory directory;
  std::filesystem::create_directory(directory / "file");
  RecordWriter writer{directory / "file", {.rename_on_close = true}};
  std::error_code ec;
  writer.close(ec);
  CHECK(ec == std::errc::is_a_directory);
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("RecordWriter: after close", "[record][record_writer]") {
  const support::TempDirectory directory;
  RecordWriter writer{directory / "file"};
  writer.append(as_bytes("one"));
  writer.close();
  CHECK_NOTHROW(writer.close());
  CHECK_THROWS_WITH(writer.append(as_bytes("two")), ContainsSubstring("file: record 1: the writer is closed"));
  std::error_code ec;
  writer.flush(ec);
  CHECK(ec == record_errc::closed);
  CHECK(payloads_of(directory / "file") == std::vector<std::string>{"one"});
}

TEST_CASE("RecordWriter: what cannot be opened", "[record][record_writer]") {
  const support::TempDirectory directory;
  CHECK_THROWS_WITH(RecordWriter(directory / "missing/file"),
                    ContainsSubstring("missing/file: No such file or directory"));
  for (const int level : {-2, 10}) {
    std::error_code ec;
    RecordWriter writer{directory / "file", {.compression = Compression::gzip, .level = level}, ec};
    CHECK(ec == record_errc::bad_level);
    CHECK(ec == distrib::failure::invalid_argument);
    CHECK_THROWS_WITH(writer.append({}), ContainsSubstring("level " + std::to_string(level)));
  }
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("RecordWriter: a full disk is told, and sticks", "[record][record_writer]") {
  if (!std::filesystem::exists("/dev/full")) return;
  RecordWriter writer{"/dev/full"};
  std::error_code ec;
  writer.append(as_bytes("one"), ec);
  CHECK_FALSE(ec);  // in the buffer
  CHECK_THROWS_WITH(writer.append(as_bytes(std::string(10'000, 'x'))),
                    ContainsSubstring("/dev/full: record 1: No space left on device"));
  writer.append(as_bytes("three"), ec);
  CHECK(ec == std::errc::no_space_on_device);
  writer.flush(ec);
  CHECK(ec == std::errc::no_space_on_device);
  CHECK_THROWS_AS(writer.close(), std::system_error);
  CHECK(writer.error().code == ec);
  CHECK(writer.records() == 1);

  RecordWriter compressed{"/dev/full", {.compression = Compression::gzip}};
  compressed.append(as_bytes("one"));
  compressed.close(ec);
  CHECK(ec == std::errc::no_space_on_device);
}
