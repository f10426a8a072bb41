// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/record_writer.hpp>

#include <distrib/core/files.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/gzip_members.hpp>
#include <distrib/record/index_file.hpp>

#include "record/files.hpp"
#include "record/payloads.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/unreadable_directory.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

using distrib::as_bytes;
using distrib::Compression;
using distrib::record_errc;
using distrib::RecordWriter;
using support::payloads_of;

namespace {

/// Returns how many members the headers of the file announce; 0 if they are not the whole file.
auto members_in(const std::filesystem::path& path) -> std::size_t {
  const std::string bytes = support::read_file(path);
  distrib::GzipMembers members{as_bytes(bytes)};
  std::size_t count = 0;
  while (members.try_next()) ++count;
  return members.complete() ? count : 0;
}

/// True if the file system of a directory has files without names, which are gone when their process ends.
auto has_unnamed_files(const std::filesystem::path& directory) -> bool {
  std::error_code ec;
  const std::string hidden = distrib::detail::create_unnamed_file(directory / "probe", ec).path;
  return hidden.empty() || !std::filesystem::remove(hidden);
}

/// While it exists, files of this process end at `bytes`, as if the disk were full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const ::rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  ::rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

auto files_in(const std::filesystem::path& directory) -> std::size_t {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{directory}, {}));
}

}  // namespace

TEST_CASE("RecordWriter: writes the bytes that TensorFlow writes", "[record][record_writer]") {
  const support::TempDirectory directory;
  RecordWriter writer{directory / "file"};
  for (const std::string& payload : payloads_of(support::fixture("example.tfrecord"))) writer.append(as_bytes(payload));
  CHECK(writer.records() == 5);
  writer.close();
  CHECK(support::read_file(directory / "file") == support::read_file(support::fixture("example.tfrecord")));
}

TEST_CASE("RecordWriter: small and large records, with every compression", "[record][record_writer]") {
  std::vector<std::string> payloads;
  for (const std::size_t size : {0U, 1U, 100U, 65'535U, 65'536U, 65'537U, 262'143U, 262'144U, 262'145U, 3U, 700'000U})
    payloads.push_back(support::noise(size));
  for (int i = 0; i < 3000; ++i) payloads.push_back(std::to_string(i) + std::string(100, 'x'));  // fills the buffer
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    RecordWriter writer{directory / "file", {.compression = compression, .deflate = {.level = 1}}};
    for (const std::string& payload : payloads) writer.append(as_bytes(payload));
    writer.close();
    const std::string head = support::read_file(directory / "file").substr(0, distrib::detection_bytes);
    CHECK(distrib::detect_compression(as_bytes(head)) == compression);
    CHECK((payloads_of(directory / "file") == payloads));
  }
}

TEST_CASE("RecordWriter: a file without records is readable", "[record][record_writer]") {
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    support::write_file(directory / "file", "what was there before");
    RecordWriter{directory / "file", {.compression = compression}}.close();
    CHECK(payloads_of(directory / "file").empty());
  }
}

TEST_CASE("RecordWriter: after a flush, readers find the records", "[record][record_writer]") {
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    RecordWriter writer{directory / "file", {.compression = compression}};
    writer.append(as_bytes("one"));
    writer.flush();
    CHECK(payloads_of(directory / "file",
                      {.truncated_header = distrib::RecordReaderOptions::TruncatedHeader::end_like_tensorflow}) ==
          std::vector<std::string>{"one"});
    writer.append(as_bytes("two"));
    writer.flush();
    writer.flush();
    CHECK(payloads_of(directory / "file",
                      {.truncated_header = distrib::RecordReaderOptions::TruncatedHeader::end_like_tensorflow}) ==
          std::vector<std::string>{"one", "two"});
    writer.close();
    CHECK(payloads_of(directory / "file") == std::vector<std::string>{"one", "two"});
  }
}

TEST_CASE("RecordWriter: flushing after each record, and buffers of other sizes", "[record][record_writer]") {
  const support::TempDirectory directory;
  const distrib::DeflateOptions each{.flush = distrib::DeflateOptions::Flush::sync};
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const distrib::RecordWriterOptions plain{.compression = compression, .member_bytes = 0};
    RecordWriter together{directory / "together", plain};
    distrib::RecordWriterOptions flushed = plain;
    flushed.deflate = each;
    RecordWriter apart{directory / "apart", flushed};
    std::vector<std::string> payloads;
    for (int i = 0; i < 1000; ++i) payloads.push_back("record " + std::to_string(i));
    for (const std::string& payload : payloads) together.append(as_bytes(payload)), apart.append(as_bytes(payload));
    together.close(), apart.close();
    CHECK(payloads_of(directory / "apart") == payloads);
    CHECK(std::filesystem::file_size(directory / "apart") > std::filesystem::file_size(directory / "together") + 4000);
  }
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 20}) {
    RecordWriter writer{directory / "file", {.buffer_bytes = bytes}};
    const std::string payload(65'536, 'x');
    for (int i = 0; i < 10; ++i) writer.append(as_bytes(payload));
    // 131072 bytes hold one such record with its frame, not two.
    CHECK(std::filesystem::file_size(directory / "file") == (bytes == 0 ? 9 * (65'536 + 16) : 0));
    writer.close();
    CHECK(payloads_of(directory / "file").size() == 10);
  }
}

TEST_CASE("RecordWriter: the destructor closes the file, also after a move", "[record][record_writer]") {
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

TEST_CASE("RecordWriter: two writers of one name, each with a file of its own until it is closed",
          "[record][record_writer]") {
  const support::TempDirectory directory;
  RecordWriter one{directory / "file", {.rename_on_close = true}};
  RecordWriter two{directory / "file", {.rename_on_close = true}};
  {
    RecordWriter abandoned{directory / "file", {.rename_on_close = true}};
    abandoned.append(as_bytes("neither"));
    abandoned.flush();
  }
  one.append(as_bytes("one"));
  one.flush();
  two.append(as_bytes("the second"));
  two.close();
  CHECK(payloads_of(directory / "file") == std::vector<std::string>{"the second"});
  one.append(as_bytes("more"));
  one.close();
  CHECK(payloads_of(directory / "file") == std::vector<std::string>{"one", "more"});
  CHECK(files_in(directory.path()) == 1);

  // A file of another container, where a process has the number of this one.
  const std::string other = directory / (".file.tmp" + std::to_string(::getpid()));
  for (const std::string& name : {other, other + "-0"}) support::write_file(name, "unfinished");
  {
    RecordWriter writer{directory / "file", {.rename_on_close = true}};
    writer.append(as_bytes("three"));
    writer.close();
  }
  CHECK(payloads_of(directory / "file") == std::vector<std::string>{"three"});
  for (const std::string& name : {other, other + "-0"}) CHECK(support::read_file(name) == "unfinished");
}

TEST_CASE("RecordWriter: with rename_on_close other processes see the old file or the whole new one",
          "[record][record_writer]") {
  const support::TempDirectory directory;
  support::write_file(directory / "file", support::framed("old"));
  {
    RecordWriter abandoned{directory / "file", {.rename_on_close = true}};
    abandoned.append(as_bytes("new"));
    abandoned.flush();
    CHECK(files_in(directory.path()) == (has_unnamed_files(directory.path()) ? 1 : 2));
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

TEST_CASE("RecordWriter: with rename_on_close a killed process leaves no file", "[record][record_writer]") {
  const support::TempDirectory directory;
  if (!has_unnamed_files(directory.path())) return;
  const ::pid_t child = ::fork();
  if (child == 0) {
    RecordWriter writer{directory / "file", {.rename_on_close = true}};
    writer.append(as_bytes("new"));
    writer.flush();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("RecordWriter: rename_on_close in a directory that may be written and not read", "[record]") {
  const support::UnreadableDirectory directory;
  const std::string path = directory.path() + "/file";
  RecordWriter writer{path, {.rename_on_close = true}};
  writer.append(as_bytes("one"));
  std::error_code ec;
  writer.close(ec);
  CHECK_FALSE(ec);
  CHECK(payloads_of(path) == std::vector<std::string>{"one"});
}

TEST_CASE("RecordWriter: if renaming fails, no file is left", "[record][record_writer]") {
  const support::TempDirectory directory;
  std::filesystem::create_directory(directory / "file");
  RecordWriter writer{directory / "file", {.rename_on_close = true}};
  std::error_code ec;
  writer.close(ec);
  CHECK(ec == std::errc::is_a_directory);
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("RecordWriter: calls after close fail, except close", "[record][record_writer]") {
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

TEST_CASE("RecordWriter: files that cannot be opened", "[record][record_writer]") {
  const support::TempDirectory directory;
  CHECK_THROWS_WITH(RecordWriter(directory / "missing/file"),
                    ContainsSubstring("missing/file: No such file or directory"));
  for (const int level : {-2, 10}) {
    std::error_code ec;
    RecordWriter writer{directory / "file", {.compression = Compression::gzip, .deflate = {.level = level}}, ec};
    CHECK(ec == record_errc::bad_level);
    CHECK(ec == distrib::failure::invalid_argument);
    CHECK_THROWS_WITH(writer.append({}), ContainsSubstring("level " + std::to_string(level)));
  }
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("RecordWriter: a full disk is reported by every later call", "[record][record_writer]") {
  if (!std::filesystem::exists("/dev/full")) return;
  RecordWriter writer{"/dev/full"};
  std::error_code ec;
  writer.append(as_bytes("one"), ec);
  CHECK_FALSE(ec);  // in the buffer
  CHECK_THROWS_WITH(writer.append(as_bytes(std::string(100'000, 'x'))),
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

TEST_CASE("RecordWriter: each gzip member ends where a record ends", "[record][record_writer]") {
  const support::TempDirectory directory;
  std::vector<std::string> payloads;
  for (int i = 0; i < 400; ++i) payloads.push_back(support::noise(static_cast<std::size_t>(i * 37 % 5000)));
  struct Row {
    std::uint64_t member_bytes;
    std::size_t least;
    std::size_t most;
  };
  // 400 records of about 2500 bytes.
  const Row rows[] = {{0, 0, 0}, {1, 400, 400}, {10'000, 50, 100}, {200'000, 4, 6}, {100'000'000, 1, 1}};
  for (const Row& row : rows) {
    CAPTURE(row.member_bytes);
    RecordWriter writer{directory / "file", {.compression = Compression::gzip, .member_bytes = row.member_bytes}};
    for (const std::string& payload : payloads) writer.append(as_bytes(payload));
    writer.close();
    CHECK((payloads_of(directory / "file") == payloads));
    CHECK(members_in(directory / "file") >= row.least);
    CHECK(members_in(directory / "file") <= row.most);
  }
  RecordWriter small{directory / "file", {.compression = Compression::gzip}};
  small.append(as_bytes("one"));
  small.close();
  CHECK(members_in(directory / "file") == 1);
  RecordWriter{directory / "file", {.compression = Compression::gzip}}.close();
  CHECK(members_in(directory / "file") == 1);
}

TEST_CASE("RecordWriter: flush ends a member, but writes no empty one", "[record][record_writer]") {
  const support::TempDirectory directory;
  RecordWriter writer{directory / "file", {.compression = Compression::gzip}};
  writer.flush();
  CHECK(support::read_file(directory / "file").empty());
  writer.append(as_bytes("one"));
  writer.flush();
  writer.flush();
  CHECK(payloads_of(directory / "file") == std::vector<std::string>{"one"});  // complete without close()
  writer.append(as_bytes("two"));
  writer.flush();
  writer.close();
  CHECK(members_in(directory / "file") == 2);
  CHECK(payloads_of(directory / "file") == std::vector<std::string>{"one", "two"});
}

TEST_CASE("RecordWriter: after an exception the file has the records so far", "[record][record_writer]") {
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    try {
      RecordWriter writer{directory / "file", {.compression = compression}};
      for (int i = 0; i < 3; ++i) writer.append(as_bytes("record"));
      throw std::runtime_error{"the program's own"};
    } catch (const std::runtime_error&) {
    }
    CHECK(payloads_of(directory / "file") == std::vector<std::string>(3, "record"));
  }
}

TEST_CASE("RecordWriter: if the disk is full, the file ends with a whole record", "[record][record_writer]") {
  const support::TempDirectory directory;
  struct Row {
    Compression compression;
    std::size_t payload_bytes;
    rlim_t limit;
  };
  for (const Row& row : {Row{Compression::none, 1000, 4'000'000}, Row{Compression::none, 100'000, 4'000'000},
                         Row{Compression::none, 3'000'000, 4'000'000}, Row{Compression::gzip, 1000, 50'000}}) {
    CAPTURE(row.payload_bytes, static_cast<int>(row.compression));
    const std::string payload = support::noise(row.payload_bytes);
    std::error_code ec;
    {
      const FileSizeLimit limit{row.limit};
      RecordWriter writer{directory / "file", {.compression = row.compression}};
      for (int i = 0; i < 10'000 && !ec; ++i) writer.append(as_bytes(payload), ec);
      CHECK(ec == std::errc::file_too_large);
      CHECK(ec == distrib::failure::io);
      std::error_code closing;
      writer.close(closing);
      CHECK(closing == ec);
    }
    const std::vector<std::string> left = payloads_of(directory / "file");  // no failure
    CHECK(left.size() * row.payload_bytes > row.limit / 2);
    for (const std::string& one : left) CHECK((one == payload));
  }
}

TEST_CASE("RecordWriter: writes the index that readers would build", "[record][record_writer]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  for (const bool rename : {false, true})
    for (const int records : {0, 1, 100}) {
      RecordWriter writer{path, {.rename_on_close = rename, .index = true}};
      for (int i = 0; i < records; ++i) writer.append(as_bytes(support::noise(static_cast<std::size_t>(i * i * 10))));
      writer.close();
      CAPTURE(rename, records);
      const std::string kept = support::read_file(distrib::index_file_path(path));
      const distrib::RecordIndex index{path};
      CHECK(index.size() == static_cast<std::size_t>(records));
      CHECK_FALSE(kept.empty());
      distrib::write_index_file(path, index.offsets());
      CHECK((support::read_file(distrib::index_file_path(path)) == kept));
    }
  std::error_code ec;
  RecordWriter compressed{path, {.compression = Compression::gzip, .index = true}, ec};
  CHECK(ec == record_errc::compressed);
}

TEST_CASE("RecordWriter: refuses options that no compressor accepts", "[record][record_writer]") {
  const support::TempDirectory directory;
  std::error_code ec;
  RecordWriter writer{directory / "file", {.compression = Compression::zlib, .deflate = {.memory_level = 10}}, ec};
  CHECK(ec == record_errc::bad_deflate_option);
  const RecordWriter plain{directory / "file", {.deflate = {.memory_level = 10}}, ec};  // no effect without compression
  CHECK_FALSE(ec);
}
