// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/process_settings.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/nets.hpp"

#include <dlfcn.h>

#include <optional>
#include <thread>

using distrib::detail::ProcessSettings;

namespace {

// LibTorch's OpenMP, which no program links to by itself.
auto omp_threads() -> int { return reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"))(); }

}  // namespace

TEST_CASE("ProcessSettings: threads and algorithms, one choice at a time", "[libtorch]") {
  std::optional<ProcessSettings> one;
  one.emplace(distrib::TorchOptions{.intra_op_threads = 1});
  CHECK(at::get_num_threads() == 1);
  CHECK(at::globalContext().deterministicAlgorithms());
  {
    const ProcessSettings same{{.intra_op_threads = 1}};
    const auto threads = support::failure_of([] { const ProcessSettings other{{.intra_op_threads = 2}}; });
    CHECK(threads.code == distrib::libtorch_errc::other_settings);
    CHECK(threads.where == "intra_op_threads 1 and 2, deterministic true and true");
    const auto mode = support::failure_of([] { const ProcessSettings other{{.deterministic = false}}; });
    CHECK(mode.code == distrib::libtorch_errc::other_settings);
  }
  one.reset();
  one.emplace(distrib::TorchOptions{.intra_op_threads = 2, .deterministic = false});
  CHECK(at::get_num_threads() == 2);
  CHECK(!at::globalContext().deterministicAlgorithms());
}

TEST_CASE("ProcessSettings: reach the threads that use them", "[libtorch]") {
  int before = 0, after = 0, again = 0;
  std::optional<ProcessSettings> settings;
  settings.emplace(distrib::TorchOptions{.intra_op_threads = 2});
  std::thread{[&] {
    settings->use_on_this_thread();
    before = omp_threads();
    settings.reset();
    settings.emplace(distrib::TorchOptions{.intra_op_threads = 1});
    settings->use_on_this_thread();
    after = omp_threads();
    settings->use_on_this_thread();
    again = omp_threads();
  }}.join();
  CHECK(before == 2);
  CHECK(after == 1);
  CHECK(again == 1);
}
