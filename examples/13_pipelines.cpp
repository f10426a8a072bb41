// SPDX-License-Identifier: Apache-2.0
// Pipelines: steps in the order in which they are written, batches that a thread fills in advance, continuing after a
// stop, and streams.
#include <distrib/data/batch_reader.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

namespace {

struct Number {
  std::int64_t value = 0;
};
constexpr auto numbers = distrib::schema<Number>(distrib::feature("value", &Number::value));

// Writes the numbers 0 .. 29 to three files, the last one compressed.
void write(const std::string& directory) {
  std::filesystem::create_directories(directory);
  distrib::ExampleWriter example{numbers};
  for (const std::int64_t file : {0, 1, 2}) {
    const auto compression = file == 2 ? distrib::Compression::gzip : distrib::Compression::none;
    distrib::RecordWriter writer{directory + "/part-" + std::to_string(file), {.compression = compression}};
    for (std::int64_t i = 0; i < 10; ++i) writer.append(example.write({10 * file + i}));
    writer.close();
  }
}

void print(const char* what, const distrib::Batch<Number>& batch) {
  std::printf("%s:", what);
  for (const std::int64_t value : batch.column(&Number::value)) std::printf(" %d", static_cast<int>(value));
  std::printf("\n");
}

}  // namespace

auto main() -> int try {
  const std::string directory = "13_pipelines.out";
  write(directory);

  const auto records = distrib::tfrecords(directory + "/part-*").schema(distrib::feature("value", &Number::value));
  const auto odd = records.filter([](const Number& number) { return number.value % 2 == 1; });
  const auto half = odd.shard(2, 0).shuffle(7).repeat(3).batch(4);  // shard(2, 1) would be the other half
  const auto source = half.open();
  std::printf("%d of 15 odd numbers\n", static_cast<int>(source.records()));

  distrib::IoPool pool{1};
  std::string where;
  {
    distrib::BatchReader reader{source, pool, 2};  // fills two batches in advance
    print("first", *reader.next());
    where = to_string(reader.state());
  }
  distrib::BatchReader reader{source, pool, 2};
  reader.resume(distrib::parse_data_state(where));
  while (const auto* batch = reader.next()) print("then", *batch);

  auto stream = distrib::tfrecords(directory + "/part-2").stream().window_shuffle(5, 7).take(8).batch(numbers, 4);
  for (const auto* batch : stream) print("streamed", *batch);

  std::filesystem::remove_all(directory);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
