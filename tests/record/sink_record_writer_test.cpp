// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/sink_record_writer.hpp>

#include "support/catch.hpp"
#include "support/noise.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <iterator>
#include <memory>

using distrib::as_bytes;
using distrib::Compression;
using distrib::Error;
using distrib::record_errc;
using distrib::RecordWriterOptions;

namespace {

/// Keeps what is written; fails when it has more than `most` bytes.
struct KeptSink {
  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
  std::shared_ptr<bool> closed = std::make_shared<bool>(false);
  std::size_t most = SIZE_MAX;
  void write(distrib::ByteView more, Error& error) {
    error = {};
    bytes->append(distrib::as_text(more));
    if (bytes->size() > most) error = {std::make_error_code(std::errc::no_space_on_device), "PUT x"};
  }
  void close(Error& error) {
    error = {};
    *closed = true;
  }
};
static_assert(distrib::ByteSink<KeptSink>);

auto file_bytes(const std::filesystem::path& path) -> std::string {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

TEST_CASE("SinkRecordWriter: the bytes that RecordWriter writes", "[record]") {
  const support::TempDirectory temp;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib})
    for (const std::size_t member_bytes : {std::size_t{0}, std::size_t{3000}, std::size_t{1} << 20})
      for (const std::size_t records : {0U, 1U, 400U}) {
        CAPTURE(static_cast<int>(compression), member_bytes, records);
        const RecordWriterOptions options{.compression = compression, .member_bytes = member_bytes};
        distrib::RecordWriter file{(temp / "f").string(), options};
        const KeptSink written;
        distrib::SinkRecordWriter writer{written, "f", options};
        for (std::size_t i = 0; i < records; ++i) {
          const std::string payload = support::noise(i * 37 % 3000, static_cast<unsigned>(i));
          file.append(as_bytes(payload));
          writer.append(as_bytes(payload));
        }
        file.close();
        CHECK_FALSE(*written.closed);
        writer.close();
        CHECK(*written.closed);
        CHECK(writer.records() == records);
        CHECK((*written.bytes == file_bytes(temp / "f")));
      }
}

TEST_CASE("SinkRecordWriter: knows where records begin; fails for good, naming the record", "[record]") {
  const KeptSink written;
  distrib::SinkRecordWriter writer{written, "f", {.index = true}};
  writer.append(as_bytes("abc"));
  writer.append({});
  CHECK(std::vector<std::uint64_t>{writer.offsets().begin(), writer.offsets().end()} ==
        std::vector<std::uint64_t>{0, 19, 35});
  writer.close();
  Error error;
  writer.append({}, error);
  CHECK(error.code == record_errc::closed);

  distrib::SinkRecordWriter full{KeptSink{.most = 1000}, "https://h/f?sig=SECRET"};
  const std::string large = support::noise(1 << 20, 1);
  full.append(as_bytes(large), error);
  CHECK(error.code == std::errc::no_space_on_device);
  CHECK(error.where == "https://h/f: record 0 (PUT x)");
  full.close(error);
  CHECK(error.code == std::errc::no_space_on_device);
  CHECK_THROWS_AS((distrib::SinkRecordWriter{KeptSink{}, "f", {.compression = Compression::gzip, .index = true}}),
                  std::system_error);
}
