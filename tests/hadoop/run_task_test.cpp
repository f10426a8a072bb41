// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/run_task.hpp>

#include "hadoop/conversation.hpp"
#include "hadoop/word_count.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <string>
#include <system_error>
#include <thread>

using conversation::Recorded;
using distrib::hadoop_errc;
using distrib::hadoop::run_task;
using distrib::hadoop::detail::run_task_in;

namespace {

void write_file(const std::string& path, distrib::ByteView bytes) {
  std::ofstream{path, std::ios::binary} << distrib::as_text(bytes);
}

}  // namespace

TEST_CASE("run_task: replays a recorded conversation", "[hadoop][run_task]") {
  const support::TempDirectory directory;
  const Recorded recorded{"map_java_reader"};
  const std::string down = directory / "downlink.data";
  const std::string token = directory / "jobTokenPassword";
  write_file(down, recorded.down);
  write_file(token, recorded.token);
  CHECK(run_task_in({{"mapreduce.pipes.commandfile", down}}, word_count::Words{}, word_count::Sum{}) == 0);
  const auto lines = conversation::answers(distrib::as_bytes(conversation::file_text(down + ".out")));
  CHECK(lines.front() == "counter 0 words/lines");
  CHECK(lines.back() == "done");
  const distrib::Environment with_token{{"mapreduce.pipes.commandfile", down},
                                        {"hadoop.pipes.shared.secret.location", token}};
  CHECK(run_task_in(with_token, word_count::Words{}) == 0);
  CHECK(conversation::answers(distrib::as_bytes(conversation::file_text(down + ".out"))).front().starts_with("proof "));
  write_file(token, distrib::as_bytes("another"));
  try {
    run_task_in(with_token, word_count::Words{});
    FAIL("a wrong token was accepted");
  } catch (const std::system_error& failure) {
    CHECK(failure.code() == hadoop_errc::wrong_digest);
  }
}

TEST_CASE("run_task: over a socket", "[hadoop][run_task]") {
  const support::TempDirectory directory;
  const Recorded recorded{"map_java_reader"};
  const std::string token = directory / "jobTokenPassword";
  write_file(token, recorded.token);
  asio::io_context context;
  support::Acceptor acceptor{context, support::loopback()};
  std::string heard;
  std::thread hadoop{[&] {
    auto socket = acceptor.accept();
    asio::write(socket, asio::buffer(recorded.down));
    std::array<char, 4096> part;
    while (heard.empty() || heard.back() != '\x36') {  // "done" ends the conversation
      std::error_code ec;
      heard.append(part.data(), socket.read_some(asio::buffer(part), ec));
      if (ec) return;
    }
  }};
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  CHECK(run_task_in({{"mapreduce.pipes.command.port", port}, {"hadoop.pipes.shared.secret.location", token}},
                    word_count::Words{}) == 0);
  hadoop.join();
  CHECK(conversation::answers(distrib::as_bytes(heard)).back() == "done");
}

TEST_CASE("run_task: throws if Hadoop did not start the program", "[hadoop][run_task]") {
  try {
    run_task(word_count::Words{});
    FAIL("a task was found");
  } catch (const std::system_error& failure) {
    CHECK(failure.code() == hadoop_errc::not_a_task);
  }
}
