// SPDX-License-Identifier: Apache-2.0
// A job that counts its own contributions, for kills.py: each contribution adds 1 where no other one adds anything.
//   counting write FILE COUNT         writes COUNT records, which are numbered
//   counting check DIRECTORY COUNT    reads the newest checkpoint; fails unless each of COUNT contributions was counted
//                                     exactly once
//   counting train ...                runs one task of the job, see `Settings`
// "seen" has an element for each step of each rank, "numbers" and "any" have a row for each record, and "total" is one
// number for all. A step uses one record. There are as many steps as records, so each record is used once.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/train/builder.hpp>

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::uint32_t workers = 3;

/// The flags of `train`, each `--name=value`, in addition to the flags of the cluster.
struct Settings {
  std::string data, out, mode = "async";
  std::uint64_t steps = 0, save_every = 50;
  std::uint32_t staleness = 0;
  std::uint64_t adds = 1;  ///< What a contribution adds. Another number than 1 looks as if it were counted that often.
  std::uint64_t tell = 0;  ///< 1: prints when a worker starts and ends computing a step: "at begins STEP RANK TIME".
};

/// Prints a line with the time of a clock that all processes of a machine share. It is one write, so that the line is
/// whole even if the process is killed.
void say(const char* what, const distrib::StepContext& context) {
  ::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::array<char, 128> line{};
  const int size = std::snprintf(line.data(), line.size(), "at %s %llu %u %lld%09ld\n", what,
                                 static_cast<unsigned long long>(context.step), context.rank,
                                 static_cast<long long>(now.tv_sec), now.tv_nsec);
  if (::write(STDOUT_FILENO, line.data(), static_cast<std::size_t>(size)) != size) std::abort();
}

struct Counting {
  using Variables =
      distrib::VariableList<distrib::Variable<"seen", float, 2>, distrib::Variable<"total", std::int64_t, 0>,
                            distrib::Embedding<"numbers", float, 1>, distrib::Embedding<"any", float, 1>>;
  struct Example {
    std::int64_t number;
  };

  std::int64_t count;  // number of records, and of contributions
  std::uint64_t adds;
  bool tells;

  auto variables() const -> Variables {
    const auto rows = static_cast<std::uint64_t>(count);
    return {{{count / workers, workers}},
            {{}},
            {distrib::ZerosInitializer{}, {.rows = rows}},
            {distrib::ZerosInitializer{}}};
  }

  // Returns an arbitrary key of 64 bits, different for each record.
  static auto key_of(std::int64_t number) -> std::uint64_t {
    return (static_cast<std::uint64_t>(number) + 1) * 0x9E37'79B9'7F4A'7C15;
  }

  void lookups(const distrib::Batch<Example>& batch, distrib::Lookups<Variables>& lookups) const {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      distrib::get<"numbers">(lookups).push_back(static_cast<std::uint64_t>(batch[i].number));
      distrib::get<"any">(lookups).push_back(key_of(batch[i].number));
    }
  }

  // The updater computes `value -= gradient`, so a gradient of -1 adds 1.
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    if (tells) say("begins", context);
    const auto one = static_cast<float>(adds);
    distrib::get<"seen">(gradients)(context.step - 1, context.rank) -= one;
    distrib::get<"total">(gradients)() += static_cast<std::int64_t>(adds);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto number = static_cast<std::size_t>(distrib::lookup_index<"numbers">(values)[i]);
      const auto any = static_cast<std::size_t>(distrib::lookup_index<"any">(values)[i]);
      distrib::get<"numbers">(gradients)(number, 0) -= one;
      distrib::get<"any">(gradients)(any, 0) -= one;
    }
    if (tells) say("ends", context);
    return 0;
  }
};

constexpr auto record_number = distrib::feature("number", &Counting::Example::number);

auto train(const Settings& s, const distrib::ClusterFlags& flags, distrib::Consistency consistency) -> int {
  if (s.steps == 0 || s.steps % workers != 0)
    throw std::invalid_argument{"--steps is not a multiple of the number of workers"};
  const distrib::SaveCheckpoint save{.directory = s.out + "/checkpoint", .every_steps = s.save_every};
  distrib::IoPool pool{2};
  auto trainer = distrib::train(Counting{static_cast<std::int64_t>(s.steps), s.adds, s.tell != 0})
                     .with_data(distrib::tfrecords(s.data).schema(record_number).shuffle(1).batch(1))
                     .with_partitioner(distrib::FixedShardsPartitioner{2})
                     .with_consistency(consistency)
                     .with_updater(distrib::Sgd{.learning_rate = 1})
                     .with_hooks(distrib::StopAtStep{s.steps}, save)
                     .with_local_mode({.workers = workers})
                     .build(pool, flags);
  return trainer.run();
}

auto read_settings(const std::vector<std::string>& flags) -> Settings {
  Settings s;
  for (const std::string& flag : flags) {
    const std::size_t equals = flag.find('=');
    const std::string name = flag.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : flag.substr(equals + 1);
    const auto whole_number = [&] { return std::strtoull(value.c_str(), nullptr, 10); };
    if (name == "--data") s.data = value;
    else if (name == "--out") s.out = value;
    else if (name == "--mode") s.mode = value;
    else if (name == "--steps") s.steps = whole_number();
    else if (name == "--save_every") s.save_every = whole_number();
    else if (name == "--staleness") s.staleness = static_cast<std::uint32_t>(whole_number());
    else if (name == "--adds") s.adds = whole_number();
    else if (name == "--tell") s.tell = whole_number();
    else throw std::invalid_argument{"no flag " + name};
  }
  if (s.mode != "async" && s.mode != "ssp") throw std::invalid_argument{"no mode " + s.mode};
  return s;
}

void write(const std::string& file, std::int64_t count) {
  distrib::ExampleWriter example{distrib::schema<Counting::Example>(record_number)};
  distrib::RecordWriter writer{file};
  for (std::int64_t i = 0; i < count; ++i) writer.append(example.write({i}));
  writer.close();
}

template <class T>
auto read(const distrib::BundleReader& checkpoint, std::string_view name) -> std::vector<T> {
  const distrib::StoredTensor* const tensor = checkpoint.find(name);
  if (tensor == nullptr) throw std::runtime_error{"the checkpoint has no " + std::string{name}};
  std::vector<T> values(static_cast<std::size_t>(tensor->shape.elements()));
  checkpoint.read(name, distrib::Slice::whole(tensor->shape), std::as_writable_bytes(std::span{values}));
  return values;
}

/// Prints the first five elements that were not counted exactly once. Returns the number of all such elements.
auto count_wrong(const char* what, std::span<const float> times) -> std::size_t {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i] != 1 && ++wrong <= 5) std::printf("%s %zu: %g times\n", what, i, static_cast<double>(times[i]));
  return wrong;
}

auto check(const std::string& directory, std::int64_t count) -> int {
  std::vector<distrib::Error> refused;
  const auto checkpoint = distrib::newest_complete(directory, refused);
  if (!checkpoint) throw std::runtime_error{directory + " has no complete checkpoint"};
  const std::int64_t step = read<std::int64_t>(*checkpoint, "global_step").at(0);
  if (step != count) throw std::runtime_error{"the newest checkpoint is of step " + std::to_string(step)};
  const std::vector<float> seen = read<float>(*checkpoint, "seen");
  std::size_t wrong = count_wrong("step * ranks + rank, from 0,", seen);
  const std::vector<float> numbers = read<float>(*checkpoint, "numbers");
  wrong += count_wrong("number", numbers);
  std::size_t rows = 0;
  for (const distrib::StoredTensor& tensor : checkpoint->tensors()) {
    if (!tensor.name.starts_with("any/") || !tensor.name.ends_with("/values")) continue;
    const std::vector<float> some = read<float>(*checkpoint, tensor.name);
    rows += some.size();
    wrong += count_wrong("some row", some);
  }
  const std::int64_t total = read<std::int64_t>(*checkpoint, "total").at(0);
  const auto all = static_cast<std::size_t>(count);
  std::printf("%zu steps of ranks, %zu numbers, %zu rows, a total of %lld; %zu not counted once\n", seen.size(),
              numbers.size(), rows, static_cast<long long>(total), wrong);
  return wrong == 0 && seen.size() == all && numbers.size() == all && rows == all && total == count ? 0 : 1;
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  std::vector<std::string> rest;
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (role == "write" && argc == 4) return write(argv[2], std::atoll(argv[3])), 0;
  if (role == "check" && argc == 4) return check(argv[2], std::atoll(argv[3]));
  if (role != "train") throw std::invalid_argument{"usage: counting write|check|train ..."};
  const auto flags = distrib::ClusterFlags::parse_known(argc - 1, argv + 1, rest);
  const Settings settings = read_settings(rest);
  if (settings.mode == "async") return train(settings, flags, distrib::AsynchronousParallel{});
  return train(settings, flags, distrib::StaleSynchronousParallel{.staleness = settings.staleness});
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
