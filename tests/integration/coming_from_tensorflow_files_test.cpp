// SPDX-License-Identifier: Apache-2.0
// The code about checkpoints, event files and averages in docs/coming-from-tensorflow.md.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/merge_parts.hpp>
#include <distrib/checkpoint/part_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/optimizer/moving_average.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/summary/event.hpp>
#include <distrib/summary/event_writer.hpp>
#include <distrib/summary/graph_event.hpp>
#include <distrib/summary/parse_event.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

using Floats = std::vector<float>;

namespace {

const distrib::Shape shape{4};

auto parts_of(const Floats& values) -> std::vector<distrib::BundlePart> {
  std::vector<distrib::BundlePart> parts(1);
  parts[0].tensors.push_back({.name = "w",
                              .dtype = distrib::DType::float32,
                              .shape = shape,
                              .slice = distrib::Slice::whole(shape),
                              .bytes = std::as_bytes(std::span{values})});
  return parts;
}

}  // namespace

TEST_CASE("Coming from TensorFlow: P078 moving averages", "[integration]") {
  const Floats w{2, 4};
  Floats average{1, 1};
  distrib::MovingAverage{.decay = 0.99F}.update(average, w, 1);  // TensorFlow's num_updates: decay is 2/11
  CHECK(average[0] == Approx(1 - 9.0F / 11 * (1 - 2)));
  CHECK(average[1] == Approx(1 - 9.0F / 11 * (1 - 4)));
}

TEST_CASE("Coming from TensorFlow: P102 to P105 checkpoints", "[integration]") {
  const support::TempDirectory temp;
  const std::string directory = temp.path();
  const Floats values{1, 2, 3, 4};
  const auto parts = parts_of(values);
  distrib::save_checkpoint(directory, "model.ckpt-7", parts, {.max_to_keep = 5});
  CHECK(distrib::latest_checkpoint(directory) == directory + "/model.ckpt-7");

  Floats w(4);
  const auto reader = distrib::BundleReader::open(directory + "/model.ckpt-7");
  reader.read("w", distrib::Slice::whole(shape), std::as_writable_bytes(std::span{w}));
  CHECK(w == values);
  reader.read("w", distrib::Slice::along(shape, 0, 1, 2), std::as_writable_bytes(std::span{w}.first(2)));
  CHECK(w == Floats{2, 3, 3, 4});

  distrib::Error error;
  const std::string prefix = directory + "/merged";
  distrib::perform(distrib::plan_part(prefix, parts[0], 0, 1, nullptr, error));
  distrib::perform(distrib::plan_merge(prefix, distrib::read_parts(prefix, 1, error), "0", error));
  REQUIRE_FALSE(error);
  CHECK(distrib::BundleReader::open(prefix).find("w") != nullptr);
}

TEST_CASE("Coming from TensorFlow: P106 scalars, P107 session log and graph", "[integration]") {
  const support::TempDirectory directory;
  {
    distrib::EventWriter writer{directory.path()};
    writer.scalar("loss", 7, 0.5F);
    writer.session_log(distrib::SessionStatus::start, 1);
    distrib::WireWriter event;
    const std::vector<distrib::GraphVariable> graph{{"w", "/job:ps/task:0", distrib::DType::float32, shape}};
    distrib::write_graph_event(event, 0, graph);
    writer.append(event.view());
    writer.close();
  }
  const auto file = *std::filesystem::directory_iterator{directory.path()};
  distrib::RecordReader records{file.path()};
  std::size_t scalars = 0, events = 0;
  while (const auto record = records.try_next()) {
    distrib::ParsedEvent event;
    CHECK(distrib::parse_event(record->bytes, event));
    scalars += event.scalars.size();
    ++events;
  }
  CHECK(events == 4);  // the version first
  CHECK(scalars == 1);
}
