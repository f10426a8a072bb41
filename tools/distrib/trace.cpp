// SPDX-License-Identifier: Apache-2.0
// `distrib trace merge`: one trace of several processes.
#include "trace.hpp"

#include "exit_status.hpp"
#include "report.hpp"
#include "trace_merge.hpp"

#include <distrib/core/files.hpp>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

namespace tools {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;  // of one file

auto read_trace(const std::string& file, Report& report) -> std::optional<Trace> {
  std::error_code ec;
  std::string text = distrib::detail::read_up_to(file, most_bytes + 1, ec);
  if (ec) {
    report.failure({ec, file});
    return std::nullopt;
  }
  std::size_t offset = 0;
  std::optional<Trace> trace;
  if (text.size() <= most_bytes) trace = Trace::parse(std::move(text), offset);
  if (!trace)
    report.refuse(file + " at " + std::to_string(offset), "this is not a trace of a process, or it is too long");
  return trace;
}

}  // namespace

auto merge_traces(const TraceOptions& options) -> int {
  Report report{false};
  if (!report.may_write(options.out, options.force)) return report.finish();
  std::vector<Trace> traces;
  std::vector<double> shifts;
  for (const std::string& file : options.files) {
    std::optional<Trace> trace = read_trace(file, report);
    if (!trace) continue;
    const auto shift = traces.empty() ? std::optional{0.0} : trace->behind(traces.front());
    if (!shift) {
      report.refuse(file, "it has no step in common with " + options.files.front() + ": they are of different jobs");
      continue;
    }
    traces.push_back(std::move(*trace));
    shifts.push_back(*shift);
  }
  if (const int code = report.finish(); code != exit_good) return code;
  double first = traces.front().first();
  for (std::size_t i = 0; i < traces.size(); ++i) first = std::min(first, traces[i].first() + shifts[i]);
  std::string text;
  for (std::size_t i = 0; i < traces.size(); ++i) traces[i].write(shifts[i] - first, i + 1, text);
  text += "\n]\n";
  std::FILE* const out = std::fopen(options.out.c_str(), "wb");
  const bool written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if ((out != nullptr && std::fclose(out) != 0) || !written)
    report.failure({std::error_code{errno, std::generic_category()}, options.out});
  return report.finish();
}

}  // namespace tools
