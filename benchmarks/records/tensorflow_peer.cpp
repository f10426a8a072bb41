// SPDX-License-Identifier: Apache-2.0
// The library's half of benchmarks/records_tensorflow.py: makes files, or goes through one and says how many seconds of
// CPU a pass took, each time a byte arrives on standard input. Reading is verified.
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
using distrib::feature;

/// 13 numbers, 26 categories and a label: 40 features.
struct Click {
  float i1 = 0, i2 = 0, i3 = 0, i4 = 0, i5 = 0, i6 = 0, i7 = 0, i8 = 0, i9 = 0, i10 = 0, i11 = 0, i12 = 0, i13 = 0;
  std::int64_t c1 = 0, c2 = 0, c3 = 0, c4 = 0, c5 = 0, c6 = 0, c7 = 0, c8 = 0, c9 = 0, c10 = 0, c11 = 0, c12 = 0,
               c13 = 0, c14 = 0, c15 = 0, c16 = 0, c17 = 0, c18 = 0, c19 = 0, c20 = 0, c21 = 0, c22 = 0, c23 = 0,
               c24 = 0, c25 = 0, c26 = 0, label = 0;
};

constexpr auto clicks = distrib::schema<Click>(
    feature("I1", &Click::i1), feature("I2", &Click::i2), feature("I3", &Click::i3), feature("I4", &Click::i4),
    feature("I5", &Click::i5), feature("I6", &Click::i6), feature("I7", &Click::i7), feature("I8", &Click::i8),
    feature("I9", &Click::i9), feature("I10", &Click::i10), feature("I11", &Click::i11), feature("I12", &Click::i12),
    feature("I13", &Click::i13), feature("C1", &Click::c1), feature("C2", &Click::c2), feature("C3", &Click::c3),
    feature("C4", &Click::c4), feature("C5", &Click::c5), feature("C6", &Click::c6), feature("C7", &Click::c7),
    feature("C8", &Click::c8), feature("C9", &Click::c9), feature("C10", &Click::c10), feature("C11", &Click::c11),
    feature("C12", &Click::c12), feature("C13", &Click::c13), feature("C14", &Click::c14), feature("C15", &Click::c15),
    feature("C16", &Click::c16), feature("C17", &Click::c17), feature("C18", &Click::c18), feature("C19", &Click::c19),
    feature("C20", &Click::c20), feature("C21", &Click::c21), feature("C22", &Click::c22), feature("C23", &Click::c23),
    feature("C24", &Click::c24), feature("C25", &Click::c25), feature("C26", &Click::c26),
    feature("label", &Click::label));

struct Picture {
  std::span<const std::byte> image;
  std::int64_t label = 0;
};
constexpr auto pictures =
    distrib::schema<Picture>(feature("image", &Picture::image), feature("label", &Picture::label));

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

void write_pictures(const std::string& path, std::size_t records) {
  distrib::Philox random{3, 0, 0};
  distrib::ExampleWriter writer{pictures};
  distrib::RecordWriter file{path};
  std::vector<std::byte> image(pixels);
  for (std::size_t i = 0; i < records; ++i) {
    for (std::byte& pixel : image) pixel = static_cast<std::byte>(random());
    file.append(writer.write(Picture{image, static_cast<std::int64_t>(i % 10)}));
  }
  file.close();
}

/// Batches of records of a file, each handed to `use`.
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

// A pass over a file; what they return is only there to be computed.

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
    else if (kind == "pictures") write_pictures(path, records);
    else write_raw(path, records, bytes);
    return 0;
  }
  double sum = pass(what, path, bytes, records);  // pages, caches, branch predictors
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
