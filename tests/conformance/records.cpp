// SPDX-License-Identifier: Apache-2.0
// Checksums, the bytes of records, compression, and what TensorFlow's and Hadoop's readers do about damage.
#include "answers.hpp"

#include "support/temp_directory.hpp"

#include <distrib/core/crc32c.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/record.hpp>
#include <distrib/record/codec.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>

namespace conformance {

namespace {

using distrib::ByteView;

/// A file that is removed with this object.
class File {
 public:
  File() = default;
  explicit File(ByteView bytes) {
    std::ofstream file{path(), std::ios::binary};
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  [[nodiscard]] auto path() const -> std::string { return (directory_ / "records").string(); }
  [[nodiscard]] auto bytes() const -> std::vector<std::byte> {
    std::ifstream file{path(), std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
    const ByteView view = distrib::as_bytes(text);
    return {view.begin(), view.end()};
  }

 private:
  support::TempDirectory directory_;
};

auto hex32(std::uint32_t word) -> std::string {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", word);
  return text;
}

/// The payloads of a file, up to its end or its first failure.
struct Contents {
  Json payloads = Json::array();
  distrib::Error error;
};

auto contents_of(const std::string& path, const distrib::RecordReaderOptions& options) -> Contents {
  Contents contents;
  std::error_code ec;
  distrib::RecordReader reader{path, options, ec};
  if (!ec)
    while (const auto record = reader.try_next()) contents.payloads.push_back(to_hex(record->bytes));
  contents.error = reader.error();
  return contents;
}

auto written_records(const Json& payloads) -> std::vector<std::byte> {
  const File file;
  distrib::RecordWriter writer{file.path()};
  for (const Json& payload : payloads) writer.append(from_hex(payload));
  writer.close();
  return file.bytes();
}

auto crc32c(const Json& input) -> Json {
  const std::uint32_t crc = distrib::crc32c(from_hex(input.at("hex")));
  return {{"crc32c", hex32(crc)}, {"masked", hex32(distrib::mask_crc(crc))}};
}

/// Returns the values of the feature "data" of an Example.
auto int64s_of(ByteView example) -> Json {
  Json values = Json::array();
  distrib::ExampleView{example}.find("data").for_each<std::int64_t>([&](std::int64_t v) { values.push_back(v); });
  return values;
}

/// Returns what a whole file contains; the samples of Hadoop are whole files.
auto sample_file(ByteView bytes) -> Json {
  const distrib::Compression compression = distrib::detect_compression(bytes);
  const File file{bytes};
  if (compression == distrib::Compression::none) {
    Json records = Json::array();
    Json decoded = Json::array();
    for (const distrib::Record& record : distrib::RecordReader{file.path()}) {
      records.push_back({{"payload_hex", to_hex(record.bytes)}});
      decoded.push_back(int64s_of(record.bytes));
    }
    return {{"records", records}, {"decoded", decoded}, {"sha256", to_hex(distrib::sha256(bytes))}};
  }
  std::vector<std::byte> plain;
  for (const distrib::Record& record : distrib::RecordReader{file.path()}) {
    const auto header = distrib::encode_record_header(record.bytes.size());
    const auto footer = distrib::encode_record_footer(record.bytes);
    for (const ByteView part : {ByteView{header}, record.bytes, ByteView{footer}})
      plain.insert(plain.end(), part.begin(), part.end());
  }
  return {{"uncompressed_sha256", to_hex(distrib::sha256(plain))}};
}

auto tfrecord_bytes(const Json& input) -> Json {
  if (input.contains("file_hex")) return sample_file(from_hex(input["file_hex"]));
  if (input.contains("payload_hex")) {
    const auto record = written_records(Json::array({input["payload_hex"]}));
    return {{"record_hex", to_hex(record)}, {"record_size", record.size()}};
  }
  const auto bytes = written_records(input.at("payloads_hex"));
  Json answer{{"file_hex", to_hex(bytes)}};
  if (bytes.empty()) {
    const Contents contents = contents_of(File{bytes}.path(), {});
    answer["records"] = contents.payloads.size();
    answer["read_result"] = contents.error ? "error" : "end of sequence, no error";
  }
  return answer;
}

auto tensorflow_options() -> distrib::RecordReaderOptions {
  return {.truncated_header = distrib::RecordReaderOptions::TruncatedHeader::end_like_tensorflow,
          .compression = distrib::Compression::none};
}

/// Returns the payloads, and how reading ended.
auto contents_and_end(const Contents& contents, const char* failure) -> Json {
  Json answer{{"payloads_hex", contents.payloads}, {"then", "END"}};
  if (contents.error) answer["then"] = {{"error", failure}};
  return answer;
}

auto tfrecord_corruption(const Json& input) -> Json {
  const Contents contents = contents_of(File{from_hex(input.at("file_hex"))}.path(), tensorflow_options());
  return contents_and_end(contents, "DATA_LOSS");
}

/// Returns Java's word for a failure.
auto hadoop_failure(const std::error_code& code) -> const char* {
  const bool cut = code == distrib::record_errc::truncated_header || code == distrib::record_errc::truncated_payload;
  return cut ? "EOFException" : "IOException";
}

auto hadoop_reader(const Json& input) -> Json {
  distrib::RecordReaderOptions options{
      .truncated_header = distrib::RecordReaderOptions::TruncatedHeader::end_like_hadoop,
      .compression = distrib::Compression::none};
  if (!input.value("tensorflow.read.crc32check", true))
    options.checksums = distrib::RecordReaderOptions::Checksums::ignore_like_hadoop;
  const Contents contents = contents_of(File{from_hex(input.at("file_hex"))}.path(), options);
  return contents_and_end(contents, hadoop_failure(contents.error.code));
}

/// Returns which names of compressions the library accepts, and TensorFlow's words for the others.
auto compression_names() -> Json {
  Json answer{{"accepted", Json::array()}, {"rejected", Json::object()}};
  for (const char* name : {"", "ZLIB", "GZIP", "gzip", "BZ2"}) {
    std::error_code ec;
    static_cast<void>(distrib::parse_compression(name, ec));
    if (ec) answer["rejected"][name] = "ValueError Not a valid compression_type";
    else answer["accepted"].push_back(name);
  }
  return answer;
}

/// Returns zlib's name and number of a flush mode.
auto flush_name(distrib::DeflateOptions::Flush flush) -> const char* {
  switch (flush) {
    case distrib::DeflateOptions::Flush::none: return "Z_NO_FLUSH (0)";
    case distrib::DeflateOptions::Flush::sync: return "Z_SYNC_FLUSH (2)";
    case distrib::DeflateOptions::Flush::finish: break;
  }
  return "Z_FINISH (4)";
}

/// Returns what a writer does about compression by default.
auto writer_defaults() -> Json {
  const distrib::RecordWriterOptions writer;
  const distrib::DeflateOptions& options = writer.deflate;
  return {{"flush_mode", flush_name(options.flush)},
          {"window_bits_zlib", distrib::zlib_window_bits(distrib::Compression::zlib, options.window_bits)},
          {"window_bits_gzip", distrib::zlib_window_bits(distrib::Compression::gzip, options.window_bits)},
          {"compression_level", options.level},
          {"compression_method", distrib::deflate_method},
          {"mem_level", options.memory_level},
          {"compression_strategy", static_cast<int>(options.strategy)},
          {"input_buffer_size", writer.buffer_bytes},  // one buffer serves both
          {"output_buffer_size", writer.buffer_bytes}};
}

auto tfrecord_compression(const Json& input) -> Json {
  if (input.empty()) {
    Json answer = compression_names();
    answer.update(writer_defaults());
    return answer;
  }
  distrib::RecordReaderOptions options = tensorflow_options();
  options.compression = distrib::parse_compression(input.at("compression").get<std::string>());
  const Contents contents = contents_of(File{from_hex(input.at("file_hex"))}.path(), options);
  if (contents.error) throw Refused{status_of(contents.error.code)};
  return {{"payloads_hex", contents.payloads}};
}

}  // namespace

auto record_groups() -> std::vector<Group> {
  return {{"crc32c", crc32c},
          {"tfrecord_bytes", tfrecord_bytes},
          {"tfrecord_compression", tfrecord_compression},
          {"tfrecord_corruption", tfrecord_corruption},
          {"hadoop_reader", hadoop_reader}};
}

}  // namespace conformance
