// SPDX-License-Identifier: Apache-2.0
// A data set of TFRecord files: batch number n of a seed always has the same records, in any process at any time.
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace {

struct Number {
  std::int64_t value = 0;
};
constexpr auto numbers = distrib::schema<Number>(distrib::feature("value", &Number::value));

// Writes the numbers 0 .. 9 to two files.
void write(const std::string& directory) {
  std::filesystem::create_directories(directory);
  distrib::ExampleWriter example{numbers};
  for (const std::int64_t file : {0, 1}) {
    distrib::RecordWriter writer{directory + "/part-" + std::to_string(file), {.rename_on_close = true}};
    for (std::int64_t i = 0; i < 5; ++i) writer.append(example.write({5 * file + i}));
    writer.close();
  }
}

auto read(const auto& source, std::uint64_t number) -> std::vector<std::int64_t> {
  distrib::Batch<Number> batch;
  source.fill(number, batch);
  const auto column = batch.column(&Number::value);
  return {column.begin(), column.end()};
}

void print(const std::string& what, const std::vector<std::int64_t>& values) {
  std::printf("%s:", what.c_str());
  for (const std::int64_t value : values) std::printf(" %d", static_cast<int>(value));
  std::printf("\n");
}

}  // namespace

auto main() -> int try {
  const std::string directory = "06_data.out";
  write(directory);

  const auto records = distrib::tfrecords(directory + "/part-*").schema(distrib::feature("value", &Number::value));
  print("in order", read(records.batch(4).open(), 0));
  const auto source = records.shuffle(1).batch(5).open();
  print("shuffled", read(source, 0));
  print("the rest", read(source, 1));
  print("next epoch", read(source, 2));

  std::vector<std::int64_t> epoch = read(source, 0);
  for (const std::int64_t value : read(source, 1)) epoch.push_back(value);
  std::ranges::sort(epoch);
  const bool each_once = epoch == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const bool again = read(records.shuffle(1).batch(5).open(), 2) == read(source, 2);
  std::filesystem::remove_all(directory);
  return each_once && again ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
