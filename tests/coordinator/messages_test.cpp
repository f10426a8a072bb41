// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/messages.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

namespace {

auto written(const auto& message) -> std::vector<std::byte> {
  distrib::WireWriter head;
  message.encode(head);
  return head.take();
}

/// Every shorter message decodes or is refused; nothing is read beyond it.
template <class Message> void check_cut(const std::vector<std::byte>& bytes) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut{bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
    Message message;
    static_cast<void>(message.decode(cut));
  }
}

}  // namespace

TEST_CASE("messages of the coordinator: what is written is read", "[coordinator]") {
  const auto hello = written(distrib::HelloRequest{1ULL << 63, 3, 7, "digest"});
  distrib::HelloRequest request;
  REQUIRE(request.decode(hello));
  CHECK(
      (request.session == 1ULL << 63 && request.worker == 3 && request.workers == 7 && request.functions == "digest"));
  check_cut<distrib::HelloRequest>(hello);

  distrib::HelloReply reply;
  REQUIRE(reply.decode(written(distrib::HelloReply{42})));
  CHECK(reply.process == 42);

  const auto run = written(distrib::RunRequest{1, 2, 3, 0xffffffffU, 5});
  distrib::RunRequest asked;
  REQUIRE(asked.decode(run));
  CHECK((asked.session == 1 && asked.process == 2 && asked.run == 3 && asked.function == 0xffffffffU &&
         asked.resource == 5));
  check_cut<distrib::RunRequest>(run);

  distrib::RunReply failed;
  failed.error = {std::byte{1}, std::byte{2}};
  failed.unreachable_ps = {0, 9};
  const auto answer = written(failed);
  distrib::RunReply read;
  REQUIRE(read.decode(answer));
  CHECK(read.error == failed.error);
  CHECK(read.unreachable_ps == failed.unreachable_ps);
  check_cut<distrib::RunReply>(answer);

  distrib::StopRequest stop;
  REQUIRE(stop.decode(written(distrib::StopRequest{8, 9})));
  CHECK((stop.session == 8 && stop.run == 9));
}

TEST_CASE("RunReply: the list of parameter servers is bounded", "[coordinator]") {
  distrib::WireWriter head;
  for (std::size_t i = 0; i <= distrib::RunReply::most_ps; ++i) head.varint(2, i);
  distrib::RunReply reply;
  CHECK_FALSE(reply.decode(head.view()));
}
