// SPDX-License-Identifier: Apache-2.0
// The library's half of benchmarks/records_tensorflow.py. Makes files; or, for each byte that arrives on standard
// input, makes one pass over a file and prints the CPU seconds of that pass. Checksums are verified when reading.
#include "records.hpp"

#include <distrib/core/philox.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using distrib::ByteView;

constexpr std::size_t pixels = 784;

void write_raw(const std::string& path, std::size_t records, std::size_t bytes) {
  distrib::Philox random{1, 0, 0};
  std::vector<std::uint32_t> words(bytes / 4 + 1);
  distrib::RecordWriter writer{path};
  for (std::size_t i = 0; i < records; ++i) {
    for (std::uint32_t& word : words) word = random();
    writer.append(std::as_bytes(std::span{words}).first(bytes));
  }
  writer.close();
}

void write_clicks(const std::string& path, std::size_t records) {
  distrib::Philox random{2, 0, 0};
  distrib::ExampleWriter writer{clicks};
  distrib::RecordWriter file{path};
  for (std::size_t i = 0; i < records; ++i) {
    Click click;
    for (float* number = &click.i1; number <= &click.i13; ++number) *number = static_cast<float>(random()) * 0x1p-20F;
    for (std::int64_t* id = &click.c1; id <= &click.c26; ++id) *id = random() >> (random() % 4 * 4);
    click.label = static_cast<std::int64_t>(i % 2);
    file.append(writer.write(click));
  }
  file.close();
}

/// Reads a file in batches of `size` records, parses each, and calls `use` with it.
template <class E, class Schema, class Use>
void read_batches(const std::string& path, const Schema& schema, std::size_t size, Use use) {
  distrib::RecordReader reader{path};
  std::vector<ByteView> records;
  distrib::Batch<E> batch;
  distrib::Error error;
  for (bool more = true; more;) {
    records.clear();
    while (records.size() < size) {
      const auto record = reader.try_next();
      more = record.has_value();
      if (!more) break;
      records.push_back(record->bytes);
    }
    parse_examples(schema, records, batch, error);
    throw_if(error);
    use(batch);
  }
  throw_if(reader.error());
}

// Each of these is one pass over a file. The results only prevent the compiler from removing the work.

auto read_records(const std::string& path) -> double {
  std::size_t records = 0;
  for (const distrib::Record& record : distrib::RecordReader{path}) records += record.bytes.empty() ? 2U : 1U;
  return static_cast<double>(records);
}

auto parse_clicks(const std::string& path) -> double {
  double sum = 0;
  read_batches<Click>(path, clicks, 1024, [&sum](const distrib::Batch<Click>& batch) {
    for (const std::int64_t label : batch.column(&Click::label)) sum += static_cast<double>(label);
  });
  return sum;
}

auto convert_pictures(const std::string& path) -> double {
  double sum = 0;
  std::vector<float> floats(64 * pixels);
  read_batches<Picture>(path, pictures, 64, [&](const distrib::Batch<Picture>& batch) {
    float* to = floats.data();
    for (const std::span<const std::byte> image : batch.column(&Picture::image))
      for (const std::byte pixel : image) *to++ = static_cast<float>(static_cast<unsigned char>(pixel)) / 255.0F;
    sum += static_cast<double>(floats[17]);
  });
  return sum;
}

auto write_again(const std::string& path, std::size_t bytes, std::size_t records) -> double {
  const std::vector<std::byte> payload(bytes, std::byte{7});
  distrib::RecordWriter writer{path};
  for (std::size_t i = 0; i < records; ++i) writer.append(payload);
  writer.close();
  return static_cast<double>(writer.records());
}

auto pass(std::string_view what, const std::string& path, std::size_t bytes, std::size_t records) -> double {
  if (what == "read") return read_records(path);
  if (what == "clicks") return parse_clicks(path);
  if (what == "pictures") return convert_pictures(path);
  return write_again(path, bytes, records);
}

auto cpu_seconds() -> double {
  std::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  if (argc != 6) {
    std::fprintf(stderr, "usage: tensorflow_peer make|read|clicks|pictures|write FILE BYTES RECORDS KIND\n");
    return 64;
  }
  const std::string what = argv[1];
  const std::string path = argv[2];
  const std::size_t bytes = std::stoul(argv[3]);
  const std::size_t records = std::stoul(argv[4]);
  const std::string_view kind = argv[5];
  if (what == "make") {
    if (kind == "clicks") write_clicks(path, records);
    else write_raw(path, records, bytes);
    return 0;
  }
  double sum = pass(what, path, bytes, records);  // warms pages, caches and branch predictors
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    const double began = cpu_seconds();
    sum += pass(what, path, bytes, records);
    std::printf("%.9f %g\n", cpu_seconds() - began, sum);
    std::fflush(stdout);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}
