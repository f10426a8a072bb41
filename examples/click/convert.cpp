// SPDX-License-Identifier: Apache-2.0
// Writes TFRecords of tf.train.Examples {label, numbers, categories} to TARGET_DIR: train-* for training, test-* for
// measuring.
//   convert TARGET_DIR --generate TRAIN TEST [SEED]     generates TRAIN and TEST examples, as generator.hpp describes
//   convert TARGET_DIR FILE...                          reads Criteo's text, plain or gzip; each tenth line goes to the
//                                                       test, until that has 100 000
//   convert --criteo FILE EXAMPLES [SEED]               writes generated examples as Criteo's text
#include "criteo.hpp"
#include "exact_auc.hpp"
#include "generator.hpp"

#include <distrib/example/example_writer.hpp>
#include <distrib/record/sharded_writer.hpp>

#include <zlib.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// Most lines of Criteo in the test: a chief that measures pulls the rows of the whole test at once.
constexpr std::uint64_t most_for_test = 100'000;

using Split = ClickGenerator::Split;

/// Writes the files of both splits.
class Target {
 public:
  explicit Target(const std::filesystem::path& directory)
      : train_{(directory / "train").string(), 10}, test_{(directory / "test").string(), 2} {}

  void write(Split split, const ClickExample& example) {
    (split == Split::train ? train_ : test_).append(encode_.write(example));
  }

  void close() {
    if (train_.records() == 0 || test_.records() == 0)
      throw std::runtime_error(
          "there are no examples for the training, or none for the test: each needs at least one (of Criteo's lines "
          "each tenth is for the test)");
    train_.close();
    test_.close();
    std::printf("train: %llu examples in %zu files\ntest: %llu examples in %zu files\n",
                static_cast<unsigned long long>(train_.records()), train_.shards(),
                static_cast<unsigned long long>(test_.records()), test_.shards());
  }

 private:
  distrib::ExampleWriter<ClickExample, std::int64_t, std::array<float, 13>, std::array<std::int64_t, 26>> encode_{
      distrib::schema<ClickExample>(label_feature, numbers_feature, categories_feature)};
  distrib::ShardedRecordWriter train_, test_;
};

/// Writes generated examples, and to TARGET_DIR/auc_of_generator the AUC of the true probabilities.
void generate(const std::filesystem::path& directory, std::uint64_t train, std::uint64_t test, std::uint64_t seed) {
  const ClickGenerator generator{seed};
  Target target{directory};
  for (std::uint64_t i = 0; i < train; ++i) target.write(Split::train, generator(Split::train, i).example);

  std::vector<Scored> known;
  double clicks = 0, loss = 0;
  for (std::uint64_t i = 0; i < test; ++i) {
    const auto [example, log_odds] = generator(Split::test, i);
    target.write(Split::test, example);
    known.push_back({static_cast<double>(log_odds), example.label == 1});
    clicks += example.label == 1 ? 1 : 0;
    loss += std::log1p(std::exp((example.label == 1 ? -1.0 : 1.0) * static_cast<double>(log_odds) / 65536));
  }
  target.close();
  const double auc = exact_auc(std::move(known));
  std::printf("in the test: %.1f %% clicks; the generator's probabilities have an AUC of %.4f and a log loss of %.4f\n",
              100 * clicks / static_cast<double>(test), auc, loss / static_cast<double>(test));
  std::ofstream file{directory / "auc_of_generator"};
  file << auc << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + (directory / "auc_of_generator").string());
}

/// Reads one of Criteo's files. `lines` counts the lines of all files.
void convert(const std::string& path, Target& target, std::uint64_t& lines) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file{gzopen(path.c_str(), "rb"), gzclose};
  if (!file) throw std::runtime_error("cannot open " + path);
  char line[4096];
  for (std::uint64_t number = 1; gzgets(file.get(), line, sizeof line) != nullptr; ++number, ++lines) {
    const auto where = [&] { return path + ", line " + std::to_string(number) + ": "; };
    std::string_view text{line};
    if (text.ends_with('\n')) text.remove_suffix(1);
    else if (gzeof(file.get()) == 0) throw std::runtime_error(where() + "longer than 4094 bytes, or not text");
    try {
      const bool test = lines % 10 == 9 && lines / 10 < most_for_test;
      target.write(test ? Split::test : Split::train, parse_criteo(text));
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(where() + error.what());
    }
  }
  int code = 0;
  const char* const reason = gzerror(file.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END)
    throw std::runtime_error(path + ": " + (code == Z_ERRNO ? std::strerror(errno) : reason));
}

void write_criteo(const std::string& path, std::uint64_t examples, std::uint64_t seed) {
  const ClickGenerator generator{seed};
  std::ofstream file{path};
  for (std::uint64_t i = 0; i < examples; ++i) file << criteo_line(generator(Split::train, i).example);
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

auto number(std::string_view text) -> std::uint64_t {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > std::uint64_t{1} << 40)
    throw std::runtime_error("'" + std::string{text} +
                             "' is not a number of examples or a seed: write a whole number, at most 2^40");
  return value;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments{argv + 1, argv + argc};
  const std::size_t count = arguments.size();
  const auto seed_at = [&](std::size_t i) { return count > i ? number(arguments[i]) : 1; };
  if ((count == 3 || count == 4) && arguments[0] == "--criteo") {
    write_criteo(arguments[1], number(arguments[2]), seed_at(3));
  } else if ((count == 4 || count == 5) && arguments[1] == "--generate") {
    std::filesystem::create_directories(arguments[0]);
    generate(arguments[0], number(arguments[2]), number(arguments[3]), seed_at(4));
  } else if (count >= 2 && !arguments[0].starts_with('-') && !arguments[1].starts_with('-')) {
    std::filesystem::create_directories(arguments[0]);
    std::filesystem::remove(std::filesystem::path{arguments[0]} / "auc_of_generator");
    Target target{arguments[0]};
    std::uint64_t lines = 0;
    for (std::size_t i = 1; i < count; ++i) convert(arguments[i], target, lines);
    target.close();
  } else {
    std::fprintf(stderr,
                 "usage: %s TARGET_DIR --generate TRAIN TEST [SEED]\n       %s TARGET_DIR FILE...\n"
                 "       %s --criteo FILE EXAMPLES [SEED]\n",
                 argv[0], argv[0], argv[0]);
    return 64;
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
