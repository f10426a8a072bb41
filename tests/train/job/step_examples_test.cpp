// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/step_examples.hpp>

#include "support/catch.hpp"

using distrib::Job;
using distrib::RankEntry;
using distrib::StepExamples;

TEST_CASE("StepExamples: counts the ranks of each step", "[train]") {
  Job job;
  job.ranks = 4;
  StepExamples fixed{job, 64};
  CHECK(fixed.between(0, 10) == 640);
  CHECK(fixed.between(7, 7) == 0);
  job.most_ranks = 16;
  StepExamples changing{job, 64};
  CHECK(changing.between(0, 10) == 640);
  const RankEntry more{11, 1, {0, 1, 2, 3, 4, 5}};
  changing.told(11, more);
  changing.told(12, more);
  CHECK(changing.between(9, 12) == 64 + 2 * 96);
  StepExamples late{job, 64};  // a process that starts in the middle
  late.told(20, more);
  CHECK(late.between(19, 21) == 2 * 96);
  job.consistency = distrib::AsynchronousParallel{};
  StepExamples of_contributions{job, 16};  // of all ranks, whichever they are
  of_contributions.told(2, more);
  CHECK(of_contributions.between(1, 12) == 11 * 16);
}
