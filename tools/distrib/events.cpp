// SPDX-License-Identifier: Apache-2.0
#include "events.hpp"

#include "curve.hpp"
#include "escaped_text.hpp"
#include "event_runs.hpp"
#include "report.hpp"

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/summary/event_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace tools {

namespace {

using distrib::RunEvents;
using distrib::ScalarEvent;

/// Returns the directories in and below `path` that have event files; if `path` is a file, `path` itself.
auto runs_of(const std::string& path, Report& report) -> std::set<std::string> {
  if (!distrib::detail::is_directory(path)) return {path};
  const EventRuns found = EventRunSearch{}.find(path);
  for (const std::string& link : found.loops)
    report.warning(link, "the link leads to itself or to a directory above it: not followed");
  for (const std::string& link : found.dead_links) report.warning(link, "the link leads to a file that does not exist");
  for (const distrib::Error& error : found.failures) report.failure(error);
  if (found.directories.empty() && found.failures.empty())
    report.failure({distrib::summary_errc::no_event_files, path});
  return found.directories;
}

/// Returns the name of a run; "." for the files in `root` itself.
auto run_name(const std::string& run, const std::string& root) -> std::string {
  return std::filesystem::path{run}.lexically_relative(root).string();
}

/// Prints a run as lines of JSON: its points, then its values that are not points, then what was left out.
void tell_json(const std::string& name, const RunEvents& run, Report& report) {
  for (const ScalarEvent& event : run.scalars)
    report.line(distrib::JsonObject{}
                    .add("run", name)
                    .add("tag", escaped_text(event.tag))
                    .add("step", event.step)
                    .add("wall_time", event.wall_time)
                    .add("value", event.value)
                    .text());
  for (const RunEvents::OtherValues& other : run.others)
    report.line(distrib::JsonObject{}
                    .add("run", name)
                    .add("tag", escaped_text(other.tag))
                    .add("what", escaped_text(other.what))
                    .add("no_points", other.values)
                    .text());
  for (const auto& [tag, points] : run.superseded)
    report.line(distrib::JsonObject{}.add("run", name).add("tag", escaped_text(tag)).add("left_out", points).text());
}

/// Prints a run as text: a line for each curve, then its values that are not points, then what was left out.
void tell(const std::string& name, const RunEvents& run, Report& report) {
  if (run.scalars.empty() && run.others.empty()) return;
  std::map<std::string, Curve> curves;
  for (const ScalarEvent& event : run.scalars) curves[line_text(event.tag)].add(event);
  std::size_t width = 0;
  for (const auto& [tag, curve] : curves) width = std::max(width, tag.size());
  for (const RunEvents::OtherValues& other : run.others) width = std::max(width, line_text(other.tag).size());
  for (const auto& [tag, points] : run.superseded) width = std::max(width, line_text(tag).size());
  const auto line = [&](const std::string& tag, const std::string& text) {
    report.line("  " + tag + std::string(width - tag.size() + 2, ' ') + text);
  };
  report.line(name);
  for (const auto& [tag, curve] : curves) line(tag, curve.text());
  for (const RunEvents::OtherValues& other : run.others)
    line(line_text(other.tag), "not a curve: " + std::to_string(other.values) +
                                   (other.values == 1 ? " value" : " values") + ", " + line_text(other.what));
  for (const auto& [tag, points] : run.superseded)
    line(line_text(tag), std::to_string(points) + (points == 1 ? " point" : " points") +
                             " left out, because the run went back to an earlier step; --all shows them");
}

/// Keeps only the tags that were asked for.
void choose(const std::vector<std::string>& tags, RunEvents& run) {
  if (tags.empty()) return;
  const auto is_other = [&tags](const auto& of) { return std::find(tags.begin(), tags.end(), of.tag) == tags.end(); };
  std::erase_if(run.scalars, is_other);
  std::erase_if(run.others, is_other);
  std::erase_if(run.superseded,
                [&tags](const auto& of) { return std::find(tags.begin(), tags.end(), of.first) == tags.end(); });
}

}  // namespace

auto events(const EventsOptions& options) -> int {
  Report report{options.json};
  for (const std::string& directory : runs_of(options.path, report)) {
    RunEvents run = distrib::read_run(directory, {.keep_superseded = options.all});
    choose(options.tags, run);
    const std::string name = run_name(directory, options.path);
    if (options.json) tell_json(name, run, report);
    else tell(name, run, report);
    for (const distrib::Error& error : run.failures) report.failure(error);
  }
  return report.finish();
}

}  // namespace tools
