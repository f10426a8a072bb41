// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/show_progress.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace {
// Returns what a hook prints into a file that is not a terminal.
template <class F>
auto printed(F&& tell) -> std::string {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};
  distrib::ShowProgress progress{file.get()};
  tell(progress);
  std::string text(static_cast<std::size_t>(std::ftell(file.get())), '\0');
  std::rewind(file.get());
  REQUIRE(std::fread(text.data(), 1, text.size(), file.get()) == text.size());
  return text;
}

auto lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }
}  // namespace

TEST_CASE("ShowProgress: not on a terminal: plain lines, one per twentieth and one for the last step", "[train]") {
  const std::string text = printed([](distrib::ShowProgress& progress) {
    progress.on_start(
        {.first_step = 0, .last_step = 1000, .workers = 3, .examples_per_step = 192, .restored_from = {}});
    for (distrib::Step step = 1; step <= 1000; ++step) progress.on_step({step, 0.25F, 192});
    progress.on_end({});
  });
  CHECK(lines(text) == 21);
  CHECK_THAT(text, ContainsSubstring("step 1/1000  loss 0.2500"));
  CHECK_THAT(text, ContainsSubstring("step 1000/1000"));
  CHECK_THAT(text, ContainsSubstring("examples/s"));
  CHECK_THAT(text, ContainsSubstring("0 s left\n"));
  CHECK(text.find('\r') == std::string::npos);
}

TEST_CASE("ShowProgress: evaluations and events are one line each", "[train]") {
  const std::string text = printed([](distrib::ShowProgress& progress) {
    progress.on_evaluated({500, {10'000, {{"accuracy", 0.8765}, {"loss", 0.35}}, {{"auc", distrib::RocAuc{}}}}});
    progress.on_event({distrib::Event::Kind::restored, "local", {}, {}, "continuing after step 5"});
  });
  CHECK(text ==
        "evaluation after step 500: accuracy 0.8765 loss 0.3500 auc 0.0000  (10000 examples)\n"
        "continuing after step 5\n");
}

TEST_CASE("ShowProgress: a job without a last step has no time left", "[train]") {
  const std::string text = printed([](distrib::ShowProgress& progress) {
    progress.on_start({.first_step = 0,
                       .last_step = distrib::Step{1} << 60,
                       .workers = 3,
                       .examples_per_step = 192,
                       .restored_from = {}});
    for (distrib::Step step = 1; step <= 2500; ++step) progress.on_step({step, 0.25F, 192});
    progress.on_end({});
  });
  CHECK(lines(text) == 3);
  CHECK_THAT(text, ContainsSubstring("step 1  loss 0.2500"));
  CHECK_THAT(text, ContainsSubstring("step 2000  loss"));
  CHECK_THAT(text, !ContainsSubstring("left"));
}
