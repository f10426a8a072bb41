// SPDX-License-Identifier: Apache-2.0
// Writes a curve and other events for TensorBoard, without a trainer. To see them: tensorboard --logdir DIRECTORY
#include <distrib/summary/event_reader.hpp>
#include <distrib/summary/event_writer.hpp>
#include <distrib/summary/histogram.hpp>
#include <distrib/summary/tensor_event.hpp>

#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <string>

namespace {

void write(const std::string& directory) {
  distrib::EventWriter writer{directory};  // each writer creates a file of its own
  float loss = 1;
  for (int step = 1; step <= 4; ++step) writer.scalar("loss", step, loss /= 2);

  const auto seconds = static_cast<double>(std::time(nullptr));
  distrib::Histogram weights;  // <distrib/summary/histogram.hpp>
  for (int i = -3; i <= 3; ++i) weights.add(0.5 * i);
  distrib::WireWriter event;
  distrib::write_histogram_event(event, seconds, 4, "weights", weights);
  writer.append(event.view());
  distrib::write_text_event(event, seconds, 4, "remark", "*half* of it");  // <distrib/summary/tensor_event.hpp>
  writer.append(event.view());
  writer.close();
}

}  // namespace

auto main() -> int try {
  const std::string directory = "07_events.out";
  std::filesystem::remove_all(directory);
  write(directory);

  const auto scalars = distrib::read_scalars(directory);
  for (const distrib::ScalarEvent& event : scalars)
    std::printf("%s at step %d: %g\n", event.tag.c_str(), static_cast<int>(event.step), event.value);
  std::filesystem::remove_all(directory);
  return scalars.size() == 4 && scalars.back().value == 0.0625 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
