// SPDX-License-Identifier: Apache-2.0
// tf.train.Example with a schema: structs are written, and read back as columns. A record that does not fit is named.
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <vector>

namespace {

struct Click {
  std::int64_t user = 0;
  std::array<float, 2> position{};
  std::span<const std::int64_t> seen;  // any number of items
  float dwell_seconds = 0;
};

constexpr auto clicks = distrib::schema<Click>(
    distrib::feature("user", &Click::user), distrib::feature("position", &Click::position),
    distrib::feature("seen", &Click::seen), distrib::feature("dwell_seconds", &Click::dwell_seconds).otherwise(1.0F));

// Another program's version of the same records: it has no dwell time, and its users are not integers.
struct OldClick {
  float user = 0;
};
constexpr auto old_clicks = distrib::schema<OldClick>(distrib::feature("user", &OldClick::user));

using Bytes = std::vector<std::byte>;

auto write_clicks() -> std::vector<Bytes> {
  constexpr std::array<std::int64_t, 3> items{7, 8, 9};
  distrib::ExampleWriter writer{clicks};
  std::vector<Bytes> records;
  const Click first{1, {0.5F, 0.25F}, items, 3.5F};
  const Click second{2, {0.75F, 1.0F}, std::span{items}.first(1), 2};
  for (const Click& click : {first, second}) {
    const distrib::ByteView bytes = writer.write(click);
    records.emplace_back(bytes.begin(), bytes.end());
  }
  return records;
}

}  // namespace

auto main() -> int try {
  std::vector<Bytes> records = write_clicks();
  std::vector<distrib::ByteView> views{records.begin(), records.end()};

  distrib::Batch<Click> batch;
  distrib::parse_examples(clicks, views, batch);
  const std::span<const std::int64_t> users = batch.column(&Click::user);
  for (std::size_t i = 0; i < batch.size(); ++i)
    std::printf("user %d saw %zu items for %.1f s\n", static_cast<int>(users[i]), batch[i].seen.size(),
                double{batch[i].dwell_seconds});
  const bool right = batch[0].seen[2] == 9 && batch.column(&Click::position)[1][0] == 0.75F;

  distrib::ExampleWriter writer{old_clicks};
  views.push_back(writer.write({.user = 3}));
  distrib::Error error;
  distrib::parse_examples(clicks, views, batch, error);
  std::printf("%s: %s\n", error.where.c_str(), error.code.message().c_str());
  return right && error.code == distrib::example_errc::wrong_kind && batch.empty() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
