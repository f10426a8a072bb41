// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/lent_columns.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/nets.hpp"

#include <array>
#include <thread>

using distrib::libtorch_errc;
using distrib::detail::LentColumns;
using support::failure_of;

namespace {

auto lend_numbers() -> torch::Tensor {
  static std::array<float, 4> numbers{1, 2, 3, 4};
  auto tensor = torch::from_blob(numbers.data(), {4});
  LentColumns::add(tensor);
  return tensor;
}

}  // namespace

TEST_CASE("LentColumns: a tensor that is changed in place is reported, also through a view", "[libtorch]") {
  for (const bool by_view : {false, true}) {
    const LentColumns lent;
    {
      auto column = lend_numbers();
      if (by_view) column.view({2, 2}).mul_(1);
      else column.add_(0);
    }
    const auto error = failure_of([&] { lent.check("loss()"); });
    CHECK(error.code == libtorch_errc::changed_column);
    CHECK(error.where == "loss()");
  }
}

TEST_CASE("LentColumns: a tensor that is kept is reported, a copy is not", "[libtorch]") {
  torch::Tensor kept;
  {
    const LentColumns lent;
    kept = lend_numbers().clone();
    lent.check("loss()");
    kept = lend_numbers().view({2, 2});
    CHECK(failure_of([&] { lent.check("evaluate()"); }).code == libtorch_errc::kept_column);
    kept.reset();
    lent.check("evaluate()");
  }
}

TEST_CASE("LentColumns: backward() lets go what it kept", "[libtorch]") {
  const LentColumns lent;
  auto w = torch::ones({4}, torch::requires_grad());
  auto loss = (lend_numbers() * w).square().sum();
  CHECK(failure_of([&] { lent.check("loss()"); }).code == libtorch_errc::kept_column);
  loss.backward();
  lent.check("loss()");
}

TEST_CASE("LentColumns: belongs to its thread, the innermost one counts", "[libtorch]") {
  const auto outside = lend_numbers();  // no scope: nothing watches it
  const LentColumns outer;
  {
    const LentColumns inner;
    const auto kept = lend_numbers();
    CHECK(failure_of([&] { inner.check("loss()"); }).code == libtorch_errc::kept_column);
    outer.check("loss()");
    std::thread{[] { (void)lend_numbers(); }}.join();
  }
  const auto kept = lend_numbers();
  CHECK(failure_of([&] { outer.check("loss()"); }).code == libtorch_errc::kept_column);
}
