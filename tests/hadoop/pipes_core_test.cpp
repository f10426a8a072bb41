// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/pipes_core.hpp>
#include <distrib/hadoop/token.hpp>

#include "hadoop/conversation.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

using conversation::answers;
using conversation::bytes_of;
using conversation::Recorded;
using conversation::Said;
using conversation::text_of;
using distrib::ByteView;
using distrib::hadoop_errc;
using distrib::hadoop::Bytes;
using distrib::hadoop::PipesCore;
using distrib::hadoop::PipesEvent;
using distrib::hadoop::PipesMessage;

namespace {

/// Returns one line per event.
auto events(PipesCore& core, ByteView bytes, std::size_t piece) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    core.receive(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    while (const std::optional<PipesEvent> event = core.next())
      lines.push_back(std::to_string(static_cast<int>(event->kind)) + " " + text_of(event->first) + "|" +
                      text_of(event->second) + "|" + std::to_string(event->reduces) + (event->java ? " java" : ""));
  }
  return lines;
}

auto events(PipesCore&& core, ByteView bytes, std::size_t piece) -> std::vector<std::string> {
  return events(core, bytes, piece);
}

auto conversation_error(const Bytes& bytes, distrib::hadoop::PipesOptions options = {}) -> std::error_code {
  PipesCore core{std::move(options)};
  events(core, bytes, 64);
  core.end();
  CHECK(!core.next());
  if (core.error()) CHECK_THAT(core.error().where, ContainsSubstring("byte "));
  return core.error().code;
}

}  // namespace

TEST_CASE("PipesCore: a recorded map whose input Java reads", "[hadoop][pipes_core]") {
  const Recorded recorded{"map_java_reader"};
  PipesCore core{{.token = recorded.token}};
  const auto lines = events(core, recorded.down, 4096);
  CHECK(!core.error());
  REQUIRE(lines.size() == 4 + 1 + 97 + 1);
  CHECK(lines[0] == "10 ||0");
  CHECK(lines[1] == "0 ||0");
  CHECK(lines[2] == "1 ||0");
  CHECK(core.conf().size() == 73);
  CHECK(core.conf().text("mapreduce.job.reduces") == "2");
  CHECK(core.conf().text("mapreduce.pipes.isjavarecordreader") == "true");
  CHECK(lines[3].starts_with("3 $hdfs://localhost:19000/txt/input.txt"));
  CHECK(lines[3].ends_with("|2 java"));
  CHECK(lines[4] == "2 org.apache.hadoop.io.LongWritable|org.apache.hadoop.io.Text|0");
  CHECK(lines[5] == "4 " + std::string(8, '\0') + "|gamma eta 数据 alpha beta|0");
  CHECK(lines.back() == "8 ||0");
  CHECK(core.input_ended());
  core.end();
  CHECK(!core.error());
  REQUIRE(answers(core.outbox()).size() == 1);
  CHECK(answers(core.outbox())[0].starts_with("proof "));
}

TEST_CASE("PipesCore: every recording, in pieces of any size, with and without the token", "[hadoop][pipes_core]") {
  const std::map<std::string, std::size_t> recordings{
      {"map_java_reader", 103}, {"map_own_reader", 4}, {"reduce_empty", 5}, {"reduce_own_writer", 483}};
  for (const auto& [name, count] : recordings) {
    const Recorded recorded{name};
    CAPTURE(name);
    const auto whole = events(PipesCore{{.token = recorded.token}}, recorded.down, recorded.down.size());
    CHECK(whole.size() == count);
    for (const std::size_t piece : {1U, 2U, 3U, 7U, 100U, 1023U})
      CHECK(events(PipesCore{{.token = recorded.token}}, recorded.down, piece) == whole);
    PipesCore open;
    CHECK(events(open, recorded.down, 500) == whole);
    CHECK(open.outbox().empty());
  }
}

TEST_CASE("PipesCore: answers with the digest of the digest, by each hash", "[hadoop][pipes_core]") {
  const Bytes token = bytes_of("the token");
  for (const std::size_t characters : {28U, 44U, 64U, 88U}) {
    const std::string digest = distrib::hadoop::token_digest(token, "12345", characters);
    Said said;
    said.message(PipesMessage::authentication_request).bytes(digest).bytes("12345");
    PipesCore core{{.token = token}};
    CHECK(events(core, said.said, 10).size() == 1);
    const std::string proof = "proof " + distrib::hadoop::token_digest(token, digest, characters);
    CHECK(answers(core.outbox()) == std::vector{proof});
  }
}

TEST_CASE("PipesCore: a peer that cannot prove that it knows the token is refused", "[hadoop][pipes_core]") {
  const Bytes token = bytes_of("the token");
  const auto request = [](const std::string& digest) {
    Said said;
    return said.message(PipesMessage::authentication_request).bytes(digest).bytes("12345").said;
  };
  std::string digest = distrib::hadoop::token_digest(bytes_of("another"), "12345", 28);
  CHECK(conversation_error(request(digest), {.token = token}) == hadoop_errc::wrong_digest);
  CHECK(conversation_error(request(""), {.token = token}) == hadoop_errc::unknown_digest);
  CHECK(conversation_error(request("digest"), {.token = token}) == hadoop_errc::unknown_digest);
  CHECK(conversation_error(request(std::string(1025, 'a'))) == hadoop_errc::too_large);
  for (int code = 0; code < 10; ++code)
    CHECK(conversation_error(Said{}.number(code).number(0).said, {.token = token}) == hadoop_errc::unauthenticated);
  // A second request is unexpected, even after a valid first one.
  CHECK(conversation_error(Said{{}}.message(PipesMessage::authentication_request).bytes("").bytes("").said) ==
        hadoop_errc::unexpected_message);
}

TEST_CASE("PipesCore: refuses each message where the protocol does not allow it", "[hadoop][pipes_core]") {
  const Bytes split = bytes_of("split");
  const auto map = [&] { return Said{{}}.run_map(split, 2, true); };
  const auto reduce = [&] { return Said{{}}.run_reduce(true); };
  const auto unexpected = [](Said said) { return conversation_error(said.said) == hadoop_errc::unexpected_message; };
  CHECK(conversation_error(map().item("k", "v").close().said) == std::error_code{});
  CHECK(conversation_error(reduce().close().said) == std::error_code{});
  CHECK(conversation_error(Said{{}}.run_map(split, 2, false).said) == std::error_code{});
  CHECK(unexpected(map().run_map(split, 2, true)));
  CHECK(unexpected(map().run_reduce(true)));
  CHECK(unexpected(map().group("k", {})));
  CHECK(unexpected(map().message(PipesMessage::reduce_value).bytes("v")));
  CHECK(unexpected(map().close().item("k", "v")));
  CHECK(unexpected(map().close().close()));
  CHECK(unexpected(reduce().item("k", "v")));
  CHECK(unexpected(reduce().message(PipesMessage::reduce_value).bytes("v")));  // without a key
  CHECK(unexpected(reduce().message(PipesMessage::start).number(0)));
  CHECK(unexpected(reduce().message(PipesMessage::job_conf).number(0)));
  CHECK(unexpected(Said{{}}.close()));
  CHECK(unexpected(Said{{}}.item("k", "v")));
  CHECK(unexpected(Said{{}}.run_map(split, 2, false).item("k", "v")));  // the map did not ask Java for its input
  CHECK(unexpected(map().item("k", "v").message(PipesMessage::input_types).bytes("a").bytes("b")));
  CHECK(conversation_error(reduce().message(PipesMessage::abort).said) == hadoop_errc::aborted);
  CHECK(conversation_error(reduce().number(11).said) == hadoop_errc::unknown_message);
  CHECK(conversation_error(reduce().number(-1).said) == hadoop_errc::unknown_message);
  CHECK(conversation_error(reduce().message(PipesMessage::output).said) == hadoop_errc::unknown_message);
  Said other;
  other.message(PipesMessage::authentication_request).bytes("d").bytes("c").message(PipesMessage::start);
  CHECK(conversation_error(Said{other}.number(1).said) == hadoop_errc::unknown_version);
  CHECK(conversation_error(Said{other}.number(0).message(PipesMessage::job_conf).number(3).said) ==
        hadoop_errc::bad_number);
  CHECK(conversation_error(Said{other}.number(0).message(PipesMessage::job_conf).number(-2).said) ==
        hadoop_errc::bad_number);
}

TEST_CASE("PipesCore: a conversation cut at any byte is truncated", "[hadoop][pipes_core]") {
  for (const char* name : {"reduce_own_writer", "map_java_reader"}) {
    const Recorded recorded{name};
    for (std::size_t size = 0; size < recorded.down.size(); ++size) {
      if (size > 200 && size % 53 != 0 && size + 20 < recorded.down.size()) continue;
      Bytes cut{recorded.down.begin(), recorded.down.begin() + static_cast<std::ptrdiff_t>(size)};
      CAPTURE(name, size);
      CHECK(conversation_error(cut, {.token = recorded.token}) == hadoop_errc::truncated);
    }
  }
}

TEST_CASE("PipesCore: wrong lengths allocate no memory", "[hadoop][pipes_core]") {
  const auto begun = [] { return Said{{}}.run_reduce(true).message(PipesMessage::reduce_key); };
  CHECK(conversation_error(begun().number(101).said, {.most_bytes = 100}) == hadoop_errc::too_large);
  CHECK(conversation_error(begun().number(-5).said) == hadoop_errc::bad_number);
  CHECK(conversation_error(begun().number(std::int64_t{1} << 31).said) == hadoop_errc::bad_number);
  PipesCore core;
  core.receive(begun().number((std::int64_t{1} << 31) - 1).said);
  while (core.next()) {
  }
  CHECK(!core.error());
  CHECK(core.space(1).size() < 1000);  // it waits for the bytes, without memory for the announced length

  Said many;
  many.message(PipesMessage::authentication_request).bytes("d").bytes("c").message(PipesMessage::start).number(0);
  many.message(PipesMessage::job_conf).number((std::int64_t{1} << 31) - 2);
  CHECK(conversation_error(many.said) == hadoop_errc::truncated);
  for (int i = 0; i < 100; ++i) many.bytes("").bytes("");
  CHECK(conversation_error(many.said, {.most_conf_bytes = 1000}) == hadoop_errc::too_large);
  CHECK(conversation_error(many.bytes(std::string(2000, 'n')).said, {.most_conf_bytes = 2000}) ==
        hadoop_errc::too_large);
}
