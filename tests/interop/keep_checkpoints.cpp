// SPDX-License-Identifier: Apache-2.0
// usage: keep_checkpoints DIRECTORY MAX_TO_KEEP HOURS TIME...
// Saves a checkpoint at each of these times (seconds since 1970), as `save_checkpoint` does at the time of its clock.
// Prints a line after each: the numbers of the checkpoints that exist.
#include <distrib/checkpoint.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

auto main(int argc, char** argv) -> int try {
  if (argc < 4) throw std::invalid_argument{"usage: keep_checkpoints DIRECTORY MAX_TO_KEEP HOURS TIME..."};
  const std::string directory = argv[1];
  const distrib::Retention options{std::strtoull(argv[2], nullptr, 10), std::strtod(argv[3], nullptr)};
  for (int i = 4; i < argc; ++i) {
    const std::string name = "model.ckpt-" + std::to_string(i - 3);
    std::ofstream{directory + "/" + name + ".index"} << "x";
    distrib::Error error;
    const auto state = distrib::detail::read_checkpoint_state(directory, error);
    const distrib::SaveTimes times{std::strtod(argv[i], nullptr),
                                   state ? state->last_preserved_timestamp : std::nullopt};
    auto saved_before = distrib::list_checkpoints(directory, error);
    distrib::perform(distrib::plan_keep_newest(directory, name, std::move(saved_before), options, {}, times));
    std::string line;
    for (const distrib::SavedCheckpoint& saved : distrib::list_checkpoints(directory, error))
      line += saved.prefix.substr(saved.prefix.rfind('-') + 1) + " ";
    std::puts(line.c_str());
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
