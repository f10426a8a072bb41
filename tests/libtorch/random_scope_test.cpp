// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/random_scope.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/nets.hpp"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

using distrib::detail::generator_seed;
using distrib::detail::NoRandomScope;
using distrib::detail::RandomScope;

namespace {

auto draw(std::uint64_t seed) -> torch::Tensor {
  const RandomScope scope{seed, torch::kCPU};
  return torch::cat({torch::rand({20}), torch::randn({21}), torch::dropout(torch::ones({30}), 0.5, true)});
}

}  // namespace

TEST_CASE("RandomScope: the numbers of a seed, beyond 32 bits, as torch::manual_seed gives them", "[libtorch]") {
  CHECK(draw(7).equal(draw(7)));
  CHECK(!draw(7).equal(draw(8)));
  CHECK(!draw(7).equal(draw((std::uint64_t{1} << 32) + 7)));
  CHECK(!draw((std::uint64_t{2} << 32) + 7).equal(draw((std::uint64_t{1} << 32) + 7)));
  torch::manual_seed(7);
  CHECK(torch::rand({20}).equal(draw(7).narrow(0, 0, 20)));
  CHECK(generator_seed(7) == 7);
}

TEST_CASE("RandomScope: an odd number of normal numbers leaves nothing behind", "[libtorch]") {
  const auto once = draw(3);
  {
    const RandomScope scope{4, torch::kCPU};
    (void)torch::randn({1});
  }
  CHECK(draw(3).equal(once));
}

TEST_CASE("RandomScope: threads draw side by side, each its own numbers", "[libtorch]") {
  std::vector<torch::Tensor> expected;
  for (std::uint64_t seed = 0; seed < 4; ++seed) expected.push_back(draw(seed));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      for (int i = 0; i < 200; ++i) wrong += draw(seed).equal(expected[seed]) ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("RandomScope: an exception ends the turn", "[libtorch]") {
  try {
    const RandomScope scope{1, torch::kCPU};
    throw std::runtime_error("loss");
  } catch (const std::runtime_error&) {
  }
  CHECK(draw(7).equal(draw(7)));
}

TEST_CASE("NoRandomScope: notices a draw, and nothing else", "[libtorch]") {
  const NoRandomScope quiet;
  (void)torch::matmul(torch::ones({3, 3}), torch::ones({3, 3}));
  quiet.check("loss()");
  (void)torch::dropout(torch::ones({3}), 0.5, true);
  const auto error = support::failure_of([&] { quiet.check("loss()"); });
  CHECK(error.code == distrib::libtorch_errc::drew_random);
  CHECK(error.where == "loss()");
}

TEST_CASE("NoRandomScope: turns of other threads are no draws of this one", "[libtorch]") {
  const NoRandomScope before;
  std::thread{[] { (void)draw(5); }}.join();
  before.check("loss()");
  std::atomic<bool> inside{false}, done{false};
  std::thread other{[&] {
    const RandomScope scope{6, torch::kCPU};
    inside = true;
    inside.notify_one();
    done.wait(false);
  }};
  inside.wait(false);
  const NoRandomScope beside;
  (void)torch::rand({1});
  beside.check("loss()");
  done = true;
  done.notify_one();
  other.join();
}
