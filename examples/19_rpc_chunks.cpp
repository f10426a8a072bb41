// SPDX-License-Identifier: Apache-2.0
// A large request that is processed while it arrives, and is never in memory as a whole.
#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/rpc.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <system_error>

namespace {

using namespace std::chrono_literals;

struct Norm : distrib::Method<"example.Norm", distrib::SharedBuffer, double> {};  // of floats

/// Processes one request.
template <class Call>
struct Squares {
  // The size is a multiple of 64 bytes, so no float is divided. Only `end` says that the bytes were not damaged.
  void chunk(distrib::ByteView bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(float)) {
      const auto number = distrib::load_le<float>(bytes.data() + i);
      sum += double{number} * number;
    }
    ++chunks;
  }
  void end() {
    std::printf("%s\n", chunks > 1 ? "in chunks" : "at once");
    call.reply(std::sqrt(sum));
  }

  Call call;
  double sum = 0;
  int chunks = 0;
};

}  // namespace

auto main() -> int try {
  asio::io_context context{1};
  const auto norm = distrib::on_chunks<Norm>([](const distrib::SharedBuffer&, auto call, std::size_t bytes) {
    if (bytes % sizeof(float) != 0) distrib::throw_error(distrib::rpc_errc::bad_message, "not a list of floats");
    return Squares{call};
  });
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, distrib::Router{norm}};
  distrib::RpcClientPool client{context.get_executor(), {"127.0.0.1", server.port()}};

  int ended = 0;
  for (const std::size_t count : {1'000'000U, 4U}) {
    const auto gradient = std::make_shared<distrib::AlignedBuffer>(count * sizeof(float));
    for (std::size_t i = 0; i < count; ++i) distrib::store_le(gradient->data() + i * sizeof(float), 0.5F);
    client.async_call<Norm>(gradient, 5s, [&ended, count](std::error_code ec, double answer) {
      std::printf("%zu floats: %s, %.1f\n", count, ec ? ec.message().c_str() : "the norm", answer);
      ++ended;
    });
  }
  while (ended < 2) context.run_one();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
