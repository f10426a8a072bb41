// SPDX-License-Identifier: Apache-2.0
// What the door itself costs a contribution: everything around loss() and backward(). usage: bind NET. Prints
// microseconds of the fastest of 20 rounds.
#include "nets.hpp"

#include <distrib/libtorch/bound_module.hpp>
#include <distrib/libtorch/lent_columns.hpp>
#include <distrib/libtorch/process_settings.hpp>
#include <distrib/libtorch/random_scope.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

namespace {

template <class Net> auto microseconds() -> double {
  constexpr int rounds = 20, calls = 1000;
  // Nothing arrives here, because nothing is computed.
  const distrib::TorchOptions options{.allow_unused = true};
  const distrib::detail::ProcessSettings settings{options};
  Net net;
  distrib::detail::BoundModule bound{distrib::detail::tensors_of(net), options};
  const distrib::RuntimeVariables variables{bound.variables()};
  const distrib::RuntimeValues values{variables};
  distrib::RuntimeGradients gradients{variables};
  double least = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t call = 0; call < calls; ++call) {
      settings.use_on_this_thread();
      bound.bind(values, gradients);
      net.train(true);
      const distrib::detail::LentColumns columns;
      {
        const distrib::detail::RandomScope random{call, torch::kCPU};
      }
      bound.check_before_backward();
      columns.check("loss()");
      bound.check_unchanged(distrib::detail::tensors_of(net));
      bound.finish(values, gradients, 0);
    }
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - began;
    least = std::min(least, spent.count() / calls);
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: bind NET");
  std::printf("%.2f\n", with_net(argv[1], [&]<class Net>() { return microseconds<Net>(); }));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
