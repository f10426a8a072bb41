// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/cut_interval.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"

using distrib::cut_interval;

TEST_CASE("cut_interval: the largest divisor that half of the replay budget allows", "[ps]") {
  const distrib::Job job = loopback_job::make(2, 3, 5000);  // a contribution has 512 bytes; one more byte is counted
  const std::size_t step = 513;
  CHECK(cut_interval(job, 1000, 2 * 1000 * step) == 1000);
  CHECK(cut_interval(job, 1000, 2 * 999 * step) == 500);
  CHECK(cut_interval(job, 1000, 2 * 330 * step) == 250);
  CHECK(cut_interval(job, 997, 2 * 996 * step) == 1);  // 997 is a prime number
  CHECK(cut_interval(job, 1000, 0) == 1);  // one step alone exceeds the budget
  CHECK(cut_interval(job, 1'000'000, std::size_t{1} << 40) == 5000);  // not beyond the last step of the job
}

TEST_CASE("cut_interval: in an asynchronous job a rank makes only a part of the contributions", "[ps]") {
  distrib::Job job = loopback_job::make(2, 3, 5000);
  job.consistency = distrib::AsynchronousParallel{};
  CHECK(cut_interval(job, 1000, 2 * 100 * 513) == 250);
}

TEST_CASE("cut_interval: contributions count with the bytes that they have in messages", "[ps]") {
  distrib::Job job = loopback_job::make(2, 3, 5000);
  job.wire_format = distrib::FloatFormat::bfloat16;  // 256 bytes; one more byte is counted
  CHECK(cut_interval(job, 0, 2 * 1000 * 257) == 1000);
}

TEST_CASE("cut_interval: without checkpoints it need not be a divisor", "[ps]") {
  const distrib::Job job = loopback_job::make(2, 3, 5000);
  CHECK(cut_interval(job, 0, 2 * 77 * 513) == 77);
  CHECK(cut_interval(job, 0, 0) == 1);
}
