// SPDX-License-Identifier: Apache-2.0
// The hooks of TensorFlow's sessions: at which steps they act, when they stop, what they refuse.
#include "answers.hpp"

#include <distrib/summary.hpp>
#include <distrib/train.hpp>

#include "support/temp_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace conformance {

namespace {

using distrib::Step;

constexpr Step most_steps = 1'000'000;  // of one question

template <class T> auto optional_of(const Json& input, const char* name) -> std::optional<T> {
  return input.contains(name) && !input[name].is_null() ? std::optional{input[name].get<T>()} : std::nullopt;
}

auto bounded(Step steps) -> Step { return steps <= most_steps ? steps : throw Unsupported{}; }

auto steps_of(const Json& input) -> Step { return bounded(input.at("steps").get<Step>()); }

/// Returns the steps at which the curves in a directory have points.
auto steps_in(const std::string& directory) -> Json {
  Json steps = Json::array();
  for (const auto& event : distrib::read_scalars(directory))
    if (event.tag == "loss" || event.tag == distrib::StepCounter::tag) steps.push_back(event.step);
  return steps;
}

/// Runs a hook that hears of steps through a run of `steps` steps.
void run(auto& hook, Step start, Step steps, auto&& after) {
  distrib::JobStart event;
  event.first_step = start;
  event.last_step = start + steps;
  hook.on_start(event);
  after(start);
  for (Step step = start + 1; step <= start + steps; ++step) {
    hook.on_step({step, 0, 1});
    after(step);
  }
}

auto checkpoint_saver(const Json& input) -> Json {
  distrib::CheckpointSaver hook{
      {.save_secs = optional_of<double>(input, "save_secs"), .save_steps = optional_of<Step>(input, "save_steps")}};
  if (!input.contains("steps")) return Json::object();
  const Step start = input.value("start_step", Step{0});
  const Step steps = steps_of(input);
  Json saved = Json::array();
  run(hook, start, steps, [&](Step step) {
    if (hook.wants_checkpoint() || step == start + steps) saved.push_back(step);  // SaveCheckpoint saves at the end
  });
  return {{"saved_at", saved}};
}

auto summary_saver(const Json& input) -> Json {
  const support::TempDirectory directory;
  distrib::WriteSummaries hook{
      directory.path().string(),
      {.every_secs = optional_of<double>(input, "save_secs"), .every_steps = optional_of<Step>(input, "save_steps")}};
  if (!input.contains("steps")) return Json::object();
  run(hook, input.value("start_step", Step{0}), steps_of(input), [](Step) {});
  hook.on_end({});
  return {{"written_at_global_step", steps_in(directory.path().string())}};
}

auto step_counter(const Json& input) -> Json {
  const support::TempDirectory directory;
  const bool is_default = !input.contains("every_n_steps");
  distrib::StepCounterOptions options{.output_dir = directory.path().string()};
  if (!is_default) options.every_n_steps = optional_of<Step>(input, "every_n_steps");
  options.every_n_secs = optional_of<double>(input, "every_n_secs");
  distrib::StepCounter hook{options};
  if (!input.contains("steps")) return Json::object();
  run(hook, input.value("start_step", Step{0}), steps_of(input), [](Step) {});
  hook.on_end({});
  return {{"rate_written_at", steps_in(directory.path().string())}, {"tag", distrib::StepCounter::tag}};
}

auto logging_tensor(const Json& input) -> Json {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log{std::tmpfile(), std::fclose};
  if (!log) throw std::system_error{errno, std::generic_category()};
  distrib::LoggingTensor hook{{.tensors = {"step"},
                               .every_n_iter = optional_of<std::int64_t>(input, "every_n_iter"),
                               .every_n_secs = optional_of<double>(input, "every_n_secs"),
                               .at_end = input.value("at_end", false),
                               .stream = log.get()}};
  if (!input.contains("runs")) return Json::object();
  const distrib::RuntimeValues none{distrib::RuntimeVariables{}};
  const distrib::NamedValues values{none};
  // The lines since the last call: numbers of runs, which are printed as steps.
  auto lines = [&log, at = 0L]() mutable {
    std::vector<Step> found;
    std::fseek(log.get(), at, SEEK_SET);
    for (char line[200]; std::fgets(line, sizeof line, log.get()) != nullptr;)
      found.push_back(std::strtoull(line + std::string_view{"step = "}.size(), nullptr, 10));
    at = std::ftell(log.get());
    std::fseek(log.get(), 0, SEEK_END);
    return found;
  };
  hook.on_start({});
  const Step runs = bounded(input["runs"].get<Step>());
  for (Step number = 0; number < runs; ++number) hook.on_contribution({number, 0, 0, &values});
  Json answer{{"logged_at_local_iteration", lines()}};
  hook.on_end({{}, &values});
  if (lines().size() == 1) answer["plus"] = "once at the end";
  return answer;
}

auto stop_at_step(const Json& input) -> Json {
  const distrib::StopAtStep stop{.last_step = input.value("last_step", Step{0}),
                                 .num_steps = input.value("num_steps", Step{0})};
  std::error_code ec;
  stop.check(ec);
  if (ec) throw std::system_error{ec};
  if (!input.contains("start")) return Json::object();
  // A session asks its hooks after each run, so there is at least one.
  const Step start = input["start"].get<Step>();
  const Step last = stop.last_step_from(start);
  Step step = start;
  do ++step;
  while (step < last && bounded(step - start) != 0);
  if (last > start) return {{"stops_after_global_step", step}};
  return {{"stops_after_runs", step - start}};
}

auto global_step_waiter(const Json& input) -> Json {
  Json answer = Json::object();
  for (const Json& given : input.at("wait_until_step")) {
    const distrib::GlobalStepWaiter waiter{static_cast<Step>(std::max<std::int64_t>(given.get<std::int64_t>(), 0))};
    Step begins = 0;
    while (!waiter.may_begin(bounded(begins))) ++begins;
    const double seconds = std::chrono::duration<double>{distrib::GlobalStepWaiter::poll_every}.count();
    answer[given.dump()] = begins == 0
                               ? "starts at once"
                               : "polls every " + Json(seconds).dump() + " s until the global step is at least " +
                                     std::to_string(begins) + ", once only";
  }
  return answer;
}

/// Says what NanTensor does when a contribution has this loss.
auto reaction(bool fails, float loss) -> std::string {
  distrib::NanTensor hook{fails};
  try {
    hook.on_contribution({.step = 1, .loss = loss});
  } catch (const std::system_error& error) {
    if (error.code() != distrib::train_errc::nan_loss) throw;
    return "raises NanLossDuringTrainingError";
  }
  return hook.stop_reason().empty() ? "does not trigger" : "requests stop, no error";
}

auto nan_tensor(const Json& input) -> Json {
  const float loss = input["loss"].is_string() ? std::strtof(input["loss"].get<std::string>().c_str(), nullptr)
                                               : input["loss"].get<float>();
  return {{"fail_on_nan_loss=true (default)", reaction(true, loss)},
          {"fail_on_nan_loss=false", reaction(false, loss)},
          {"infinite loss", reaction(true, std::numeric_limits<float>::infinity())}};
}

auto timer(const Json& input) -> Json {
  const distrib::TimerOptions options{.every_secs = optional_of<double>(input, "every_secs"),
                                      .every_steps = optional_of<Step>(input, "every_steps")};
  std::error_code ec;
  options.check(ec);
  if (ec) throw std::system_error{ec};
  return Json::object();
}

auto hooks(const Json& input) -> Json {
  if (input.contains("wait_until_step")) return global_step_waiter(input);
  if (input.contains("loss")) return nan_tensor(input);
  const auto name = input.at("hook").get<std::string>();
  const Json& given = input.contains("args") ? input["args"] : input;
  if (name == "CheckpointSaverHook") return checkpoint_saver(given);
  if (name == "SummarySaverHook") return summary_saver(given);
  if (name == "StepCounterHook") return step_counter(given);
  if (name == "LoggingTensorHook") return logging_tensor(given);
  if (name == "StopAtStepHook") return stop_at_step(given);
  if (name == "SecondOrStepTimer") return timer(given);
  throw Unsupported{};
}

}  // namespace

auto hook_groups() -> std::vector<Group> { return {{"hooks", hooks, exception_of}}; }

}  // namespace conformance
