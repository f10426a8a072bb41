// SPDX-License-Identifier: Apache-2.0
#include "events.hpp"

#include "report.hpp"

#include <distrib/summary/event_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

namespace tools {

namespace {

using distrib::ScalarEvent;

/// The directories that have event files, as TensorBoard looks for runs: `path` and what is below, links not followed.
auto runs_of(const std::string& path, Report& report) -> std::set<std::string> {
  namespace fs = std::filesystem;
  std::set<std::string> runs;
  if (!distrib::detail::is_directory(path)) return {path};
  std::error_code ec;
  for (fs::recursive_directory_iterator at{path, ec}, end; !ec && at != end; at.increment(ec)) {
    const fs::path& file = at->path();
    if (file.filename().string().find("tfevents") != std::string::npos) runs.insert(file.parent_path().string());
  }
  if (ec) report.failure({ec, path});
  else if (runs.empty()) report.failure({distrib::summary_errc::no_event_files, path});
  return runs;
}

/// "." for what lies in `root` itself.
auto run_name(const std::string& run, const std::string& root) -> std::string {
  return std::filesystem::path{run}.lexically_relative(root).string();
}

struct Curve {
  std::size_t points = 0;
  std::int64_t first_step = 0, last_step = 0;
  double first = 0, last = 0, least = 0, most = 0;

  void add(const ScalarEvent& event) {
    if (points++ == 0) first_step = event.step, first = least = most = event.value;
    last_step = event.step;
    last = event.value;
    least = std::min(least, event.value);
    most = std::max(most, event.value);
  }
};

auto number(double value) -> std::string { return distrib::json_text(static_cast<float>(value)); }

void tell(const std::string& run, const std::map<std::string, Curve>& curves, Report& report) {
  report.line(run);
  std::size_t width = 0;
  for (const auto& [tag, curve] : curves) width = std::max(width, tag.size());
  for (const auto& [tag, curve] : curves)
    report.line("  " + tag + std::string(width - tag.size() + 2, ' ') + std::to_string(curve.points) +
                " points, steps " + std::to_string(curve.first_step) + " to " + std::to_string(curve.last_step) + ": " +
                number(curve.first) + " to " + number(curve.last) + ", least " + number(curve.least) + ", most " +
                number(curve.most));
}

}  // namespace

auto events(const EventsOptions& options) -> int {
  Report report{options.json};
  for (const std::string& run : runs_of(options.path, report)) {
    const std::string name = run_name(run, options.path);
    distrib::Error error;
    std::map<std::string, Curve> curves;
    for (const ScalarEvent& event : distrib::read_scalars(run, error)) {
      if (!options.tags.empty() && std::find(options.tags.begin(), options.tags.end(), event.tag) == options.tags.end())
        continue;
      if (options.json)
        report.line(JsonLine{}
                        .add("run", name)
                        .add("tag", event.tag)
                        .add("step", event.step)
                        .add("wall_time", event.wall_time)
                        .add("value", event.value)
                        .text());
      else curves[event.tag].add(event);
    }
    if (!options.json && !curves.empty()) tell(name, curves, report);
    if (error) report.failure(error);
  }
  return report.finish();
}

}  // namespace tools
