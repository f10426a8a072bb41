// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/mpi_rank.hpp>
#include <distrib/cluster/scheduler_error.hpp>

#include "support/catch.hpp"

using distrib::Environment;
using distrib::Error;
using distrib::MpiRank;
using distrib::open_mpi_rank;
using distrib::pmi_rank;
using distrib::scheduler_errc;

TEST_CASE("open_mpi_rank: mpirun -np 2 ps : -np 3 worker of Open MPI 4.1", "[cluster][mpi]") {
  const Environment environment{{"OMPI_APP_CTX_NUM_PROCS", "2 3"},   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "5"}, {"OMPI_COMM_WORLD_NODE_RANK", "1"},
                                {"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "5"},
                                {"OMPI_FIRST_RANKS", "0 0"},         {"PMIX_RANK", "1"}};
  CHECK(open_mpi_rank(environment) == MpiRank{1, 5, 1, 5, {2, 3}});
  std::error_code ec;
  CHECK(open_mpi_rank(environment, ec));
  CHECK_FALSE(ec);
  CHECK_FALSE(pmi_rank(environment));
}

TEST_CASE("open_mpi_rank: without local numbers, and without mpirun", "[cluster][mpi]") {
  CHECK(open_mpi_rank(Environment{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}) ==
        MpiRank{3, 4, std::nullopt, std::nullopt, {}});
  CHECK_FALSE(open_mpi_rank(Environment{}));
  CHECK_FALSE(open_mpi_rank(Environment{{"OMPI_COMM_WORLD_SIZE", "4"}}));
}

TEST_CASE("pmi_rank: mpiexec of MPICH 4.0 and srun --mpi=pmi2", "[cluster][mpi]") {
  const Environment mpich{{"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "0"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}};
  CHECK(pmi_rank(mpich) == MpiRank{2, 3, 0, 2, {}});
  CHECK(pmi_rank(Environment{{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}}) == MpiRank{0, 3, std::nullopt, std::nullopt, {}});
  CHECK_FALSE(pmi_rank(Environment{}));
}

TEST_CASE("open_mpi_rank, pmi_rank: errors name the variable", "[cluster][mpi]") {
  struct Refusal {
    Environment environment;
    scheduler_errc code;
    std::string where;
  };
  const Refusal refusals[] = {
      {{{"OMPI_COMM_WORLD_RANK", "x"}}, scheduler_errc::bad_variable, "OMPI_COMM_WORLD_RANK=x"},
      {{{"OMPI_COMM_WORLD_RANK", "0"}}, scheduler_errc::no_such_rank, "OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=0"},
      {{{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
       scheduler_errc::no_such_rank,
       "OMPI_COMM_WORLD_RANK=4, OMPI_COMM_WORLD_SIZE=4"},
      {{{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4000000000"}},
       scheduler_errc::too_many_tasks,
       "4000000000 ranks"},
      {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_APP_CTX_NUM_PROCS", "2 1"}},
       scheduler_errc::bad_variable,
       "OMPI_APP_CTX_NUM_PROCS=2 1 of 2 ranks"},
      {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_APP_CTX_NUM_PROCS", "2 x"}},
       scheduler_errc::bad_variable,
       "OMPI_APP_CTX_NUM_PROCS=2 x of 2 ranks"},
      {{{"OMPI_COMM_WORLD_RANK", "0"},
        {"OMPI_COMM_WORLD_SIZE", "2"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
       scheduler_errc::bad_variable,
       "OMPI_COMM_WORLD_LOCAL_RANK"},
      {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}},
       scheduler_errc::bad_variable,
       "OMPI_COMM_WORLD_LOCAL_RANK"},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.where);
    Error error;
    CHECK_FALSE(open_mpi_rank(refusal.environment, error));
    CHECK(error.code == refusal.code);
    CHECK(error.where == refusal.where);
    CHECK_THROWS_WITH(open_mpi_rank(refusal.environment), ContainsSubstring(refusal.where));
  }
  std::error_code ec;
  CHECK_FALSE(pmi_rank(Environment{{"PMI_RANK", "-1"}, {"PMI_SIZE", "3"}}, ec));
  CHECK(ec == scheduler_errc::bad_variable);
}
