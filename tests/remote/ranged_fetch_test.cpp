// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/ranged_fetch.hpp>

#include "support/catch.hpp"

#include <cstring>
#include <thread>

using distrib::Error;

namespace {

/// Files with numbers for names, whose content is that number again and again.
struct NumberFetch {
  struct Options {
    std::size_t piece_bytes = 10;
    std::size_t pieces_ahead = 0;
    distrib::IoPool* pool = nullptr;
    std::atomic<int>* clients = nullptr;
    std::atomic<int>* version = nullptr;
  };
  struct Client {};
  std::string name;
  std::uint64_t size = 100;
  int version = 0;

  static auto client(const Options& options) -> Client {
    ++*options.clients;
    return {};
  }
  static auto open(const std::string& name, const Options& options, Error& error) -> std::optional<NumberFetch> {
    if (name == "none") error = {std::make_error_code(std::errc::no_such_file_or_directory), name};
    if (error) return std::nullopt;
    return NumberFetch{name, 100, *options.version};
  }
  auto content() const -> std::string { return std::to_string(version); }
  auto is_lasting() const -> bool { return version < 100; }
  static auto changed() -> std::error_code { return std::make_error_code(std::errc::state_not_recoverable); }
  void operator()(Client&, std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& dropped,
                  Error& error) const {
    if (dropped) error = {std::make_error_code(std::errc::operation_canceled), name};
    std::memset(to.data(), name[0] + static_cast<int>(first), to.size());
  }
};
static_assert(distrib::VersionedFetch<NumberFetch>);

}  // namespace

TEST_CASE("open_ranged: any part, from any thread, with as few clients as possible", "[remote]") {
  std::atomic<int> clients = 0;
  std::atomic<int> version = 1;
  distrib::IoPool pool{1};
  const NumberFetch::Options options{.pool = &pool, .clients = &clients, .version = &version};
  const auto idle = std::make_shared<distrib::IdlePieces<NumberFetch>>();
  Error error;
  CHECK_FALSE(distrib::open_ranged<NumberFetch>("none", options, idle, error));
  CHECK(error.where == "none");
  const auto a = distrib::open_ranged<NumberFetch>("a", options, idle, error);
  const auto b = distrib::open_ranged<NumberFetch>("b", options, idle, error);
  REQUIRE((a && b));
  CHECK_FALSE(error);
  CHECK(a->bytes == 100);
  CHECK(a->version == "1");
  CHECK(a->piece_bytes == 10);
  CHECK(a->pieces_ahead == 1);
  const auto part = [](const distrib::RangedFile& file, std::uint64_t first) {
    std::vector<std::byte> to(3);
    const std::atomic<bool> dropped = false;
    Error failed;
    file.read(first, to, dropped, failed);
    return failed ? "failed" : std::string{distrib::as_text(to)};
  };
  CHECK(part(*a, 0) == "aaa");
  CHECK(part(*b, 2) == "ddd");
  CHECK(clients == 1);  // used by both files
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { right += part(*a, 1) == "bbb" ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 4);
  CHECK(clients <= 4);

  a->check(error);
  CHECK_FALSE(error);
  version = 2;
  a->check(error);
  CHECK(error.code == std::errc::state_not_recoverable);
  CHECK(error.where == "a");
  version = 100;
  CHECK(distrib::open_ranged<NumberFetch>("a", options, idle, error)->version.empty());
  std::atomic<bool> posted = false;
  a->post([&] {
    posted = true;
    posted.notify_all();
  });
  posted.wait(false);
}
