// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/task_context.hpp>

#include "hadoop/conversation.hpp"
#include "hadoop/word_count.hpp"
#include "support/catch.hpp"

#include <optional>
#include <string>
#include <system_error>
#include <vector>

using conversation::text_of;
using distrib::as_bytes;
using distrib::as_text;
using distrib::ByteView;
using distrib::hadoop::JobConf;
using distrib::hadoop::TaskContext;
using distrib::hadoop::Values;

TEST_CASE("TaskContext: a mapper can be tested without Hadoop", "[hadoop][task_context]") {
  std::vector<std::string> said;
  const auto say = [&](std::string line) { said.push_back(std::move(line)); };
  TaskContext context{JobConf{{{"mapreduce.task.partition", "7"}}},
                      {[&](ByteView key, ByteView value) { say(text_of(key) + "=" + text_of(value)); },
                       [&](std::string_view line) { say("status " + std::string{line}); },
                       [&](float done) { say("progress " + std::to_string(done)); },
                       [&](std::uint32_t number, std::string_view group, std::string_view name) {
                         say(std::to_string(number) + " is " + std::string{group} + "/" + std::string{name});
                       },
                       [&](std::uint32_t number, std::int64_t amount) {
                         say(std::to_string(number) + " + " + std::to_string(amount));
                       }}};
  CHECK(context.task_index() == 7);
  word_count::Words words;
  words.begin(context);
  words.map({}, as_bytes(" a  bc "), context);
  words.map(as_bytes("d"), {}, context);
  const auto other = context.counter("words", "other");
  CHECK(other != context.counter("words", "lines"));
  CHECK(other == context.counter("words", "other"));
  context.status("half");
  context.progress(0.5F);
  context.progress(1);
  context.increment(other, -3);
  context.tell_counts();
  CHECK(said == std::vector<std::string>{"0 is words/lines", "a=1", "bc=1", "d=1", "1 is words/other", "status half",
                                         "0 + 2", "progress 0.500000", "progress 1.000000", "1 + -3"});
}

TEST_CASE("TaskContext: without outlets reports are dropped; a missing or wrong task index throws",
          "[hadoop][task_context]") {
  TaskContext context;
  context.emit("a", "b");
  context.status("c");
  context.increment(context.counter("g", "n"));
  context.progress(0.1F);
  CHECK_THROWS_AS(context.task_index(), std::system_error);
  for (const char* const number : {"x", "", "4294967296", "18446744073709551615"}) {
    context.set_conf(JobConf{{{"mapreduce.task.partition", number}}});
    CHECK_THROWS_WITH(context.task_index(), ContainsSubstring("mapreduce.task.partition=" + std::string{number}));
  }
  context.set_conf(JobConf{{{"mapreduce.task.partition", "4294967295"}}});
  CHECK(context.task_index() == 4294967295);
  std::string key;
  context.exchange_outlets({.emit = [&](ByteView bytes, ByteView) { key = as_text(bytes); }});
  context.emit("a", "b");
  CHECK(key == "a");
}

TEST_CASE("Values: can be read only once", "[hadoop][task_context]") {
  int asked = 0;
  const auto next = [&]() -> std::optional<ByteView> {
    return ++asked < 4 ? std::optional{as_bytes("v")} : std::nullopt;
  };
  Values values{next};
  int count = 0;
  for (const ByteView value : values) count += static_cast<int>(value.size());
  CHECK(count == 3);
  CHECK(!values.next());
  CHECK(asked == 4);
}
