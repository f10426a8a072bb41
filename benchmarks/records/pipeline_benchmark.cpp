// SPDX-License-Identifier: Apache-2.0
// Compares batches of a shuffled data set, with and without threads that fill batches ahead, with parsing the same
// records sequentially. Also measures what each step of an order or a stream costs per element.
#include <distrib/data/batch_reader.hpp>
#include <distrib/data/order/elements.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>

#include <benchmark/benchmark.h>

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t records = 60'000;
constexpr std::uint64_t batch_size = 64;

/// An image and its label, as in Fashion-MNIST.
struct Digit {
  std::span<const std::byte> image;
  std::int64_t label = 0;
};
/// A row of numbers.
struct Click {
  std::array<float, 13> dense{};
  std::int64_t user = 0;
  std::int64_t label = 0;
};
constexpr auto digits =
    distrib::schema<Digit>(distrib::feature("image", &Digit::image), distrib::feature("label", &Digit::label));
constexpr auto clicks =
    distrib::schema<Click>(distrib::feature("dense", &Click::dense), distrib::feature("user", &Click::user),
                           distrib::feature("label", &Click::label));

/// Both data sets as files, which are removed when the program ends.
class Files {
 public:
  Files() {
    std::filesystem::create_directories(directory_);
    const std::vector<std::byte> image(784, std::byte{7});
    distrib::ExampleWriter digit{digits};
    write("digits", [&](std::int64_t i) { return digit.write({image, i % 10}); });
    distrib::ExampleWriter click{clicks};
    write("clicks", [&](std::int64_t i) { return click.write({{}, i, i % 2}); });
  }
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] auto path(const std::string& name) const -> std::string { return directory_ / name; }

 private:
  void write(const std::string& name, auto example) {
    distrib::RecordWriter writer{path(name)};
    for (std::int64_t i = 0; i < records; ++i) writer.append(example(i));
    writer.close();
  }

  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("distrib-pipeline-" + std::to_string(::getpid()));
};

auto files() -> const Files& {
  static const Files all;
  return all;
}

void count(benchmark::State& state, std::uint64_t elements) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(elements));
}

/// Stands for a model: reads the label of each element of the batch once.
template <class E>
auto look_at(const distrib::Batch<E>& batch) -> std::int64_t {
  std::int64_t sum = 0;
  for (const std::int64_t label : batch.column(&E::label)) sum += label;
  return sum;
}

template <class E, class Schema>
void sequential_parse(benchmark::State& state, const char* name, const Schema& schema) {
  distrib::Batch<E> batch;
  distrib::RecordReader reader{files().path(name)};
  std::vector<distrib::ByteView> views;
  for ([[maybe_unused]] auto iteration : state) {
    views.clear();
    while (views.size() < batch_size) {
      if (const auto record = reader.try_next()) views.push_back(record->bytes);
      else reader = distrib::RecordReader{files().path(name)}, views.clear();
    }
    distrib::parse_examples(schema, views, batch);
    benchmark::DoNotOptimize(look_at(batch));
  }
  count(state, batch_size);
}

template <class Schema>
auto shuffled(const char* name, const Schema& schema) {
  return distrib::tfrecords(files().path(name)).schema(schema).shuffle(7).batch(batch_size).open();
}

template <class E, class Schema>
void fill(benchmark::State& state, const char* name, const Schema& schema) {
  const auto source = shuffled(name, schema);
  distrib::Batch<E> batch;
  std::uint64_t number = 0;
  for ([[maybe_unused]] auto iteration : state) {
    source.fill(number++, batch);
    benchmark::DoNotOptimize(look_at(batch));
  }
  count(state, batch_size);
}

template <class E, class Schema>
void prefetch(benchmark::State& state, const char* name, const Schema& schema) {
  const auto source = shuffled(name, schema);
  distrib::IoPool pool{1};
  distrib::BatchReader reader{source, pool, 4};
  for ([[maybe_unused]] auto iteration : state) benchmark::DoNotOptimize(look_at(*reader.next()));
  count(state, batch_size);
}

void order(benchmark::State& state, const auto& elements) {
  auto order = elements.open();
  std::uint64_t position = 0;
  for ([[maybe_unused]] auto iteration : state) benchmark::DoNotOptimize(order.at(0, position++));
  count(state, 1);
}

void stream(benchmark::State& state, auto make) {
  auto pipeline = make(distrib::tfrecords(files().path("clicks")).stream()).repeat();
  distrib::Error error;
  for ([[maybe_unused]] auto iteration : state) benchmark::DoNotOptimize(pipeline.next(error));
  count(state, 1);
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, auto run) {
    return benchmark::RegisterBenchmark(name, run)->MeasureProcessCPUTime()->UseRealTime();
  };
  add("pipeline/image shuffled/ours", [](auto& state) { fill<Digit>(state, "digits", digits); });
  add("pipeline/image shuffled/sequential_parse", [](auto& s) { sequential_parse<Digit>(s, "digits", digits); });
  add("pipeline/image prefetched/ours", [](auto& state) { prefetch<Digit>(state, "digits", digits); });
  add("pipeline/image prefetched/sequential_parse", [](auto& s) { sequential_parse<Digit>(s, "digits", digits); });
  add("pipeline/15 numbers shuffled/ours", [](auto& state) { fill<Click>(state, "clicks", clicks); });
  add("pipeline/15 numbers shuffled/sequential_parse", [](auto& s) { sequential_parse<Click>(s, "clicks", clicks); });
  add("pipeline/15 numbers prefetched/ours", [](auto& state) { prefetch<Click>(state, "clicks", clicks); });
  add("pipeline/15 numbers prefetched/sequential_parse", [](auto& s) { sequential_parse<Click>(s, "clicks", clicks); });

  const auto elements = distrib::elements({1'000'000, 900'000, 1'100'000});
  add("pipeline/order shuffle repeat/ours", [=](auto& s) { order(s, elements.shuffle(7).repeat()); });
  add("pipeline/order shuffle repeat/whole", [=](auto& s) { order(s, elements.repeat()); });
  add("pipeline/order interleave shard/ours",
      [=](auto& s) { order(s, elements.interleave(3, 16).shard(4, 1).repeat()); });
  add("pipeline/order interleave shard/whole", [=](auto& s) { order(s, elements.repeat()); });
  const auto plain = [](auto all) { return all; };
  add("pipeline/stream map filter/ours", [](auto& s) {
    stream(s, [](auto all) {
      return std::move(all)
          .map([](const distrib::Record& record) { return record.bytes; })
          .filter([](distrib::ByteView bytes) { return !bytes.empty(); });
    });
  });
  add("pipeline/stream map filter/plain", [=](auto& s) { stream(s, plain); });
  add("pipeline/stream window_shuffle/ours",
      [](auto& s) { stream(s, [](auto all) { return std::move(all).window_shuffle(1000, 7); }); });
  add("pipeline/stream window_shuffle/plain", [=](auto& s) { stream(s, plain); });
  return true;
}();

}  // namespace

BENCHMARK_MAIN();
