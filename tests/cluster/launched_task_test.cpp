// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/launched_task.hpp>
#include <distrib/cluster/scheduler_error.hpp>

#include "support/catch.hpp"

using distrib::cluster_errc;
using distrib::Environment;
using distrib::Error;
using distrib::LaunchedTask;
using distrib::Launcher;
using distrib::scheduler_errc;
using distrib::TaskId;
using Arguments = std::vector<const char*>;
using Strings = std::vector<std::string>;
using Variables = Environment::Variables;

namespace {

struct Launched {
  LaunchedTask task;
  Strings rest;
  Error error;
};

auto launched(const Variables& variables, const Arguments& arguments = {}) -> Launched {
  Launched answer;
  answer.task = LaunchedTask::from(arguments, Environment{variables}, answer.rest, answer.error);
  return answer;
}

auto joined(std::initializer_list<Variables> parts) -> Variables {
  Variables all;
  for (const Variables& part : parts)
    for (const auto& [name, value] : part) all[name] = value;
  return all;
}

const Arguments four_flags{"--job_name=worker", "--task_index=1", "--ps_hosts=f:1", "--worker_hosts=f:2,f:3"};

const Variables four_variables{{"DISTRIB_JOB_NAME", "ps"},
                               {"DISTRIB_TASK_INDEX", "1"},
                               {"DISTRIB_PS_HOSTS", "v:1,v:2"},
                               {"DISTRIB_WORKER_HOSTS", "v:3"}};

const Variables tf_config_variables{
    {"TF_CONFIG", R"({"cluster": {"ps": ["t:1"], "worker": ["t:2"]}, "task": {"type": "worker", "index": 0}})"}};

const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "5"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "5"},
                         {"OMPI_APP_CTX_NUM_PROCS", "2 3"}};

const Variables slurm{{"SLURM_PROCID", "2"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_STEP_NODELIST", "n[1-3]"},
                      {"SLURM_STEP_NUM_TASKS", "5"},
                      {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                      {"SLURMD_NODENAME", "n2"}};

const Variables pmi{{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}};
const Variables mvapich2{{"MV2_COMM_WORLD_RANK", "2"},
                         {"MV2_COMM_WORLD_SIZE", "3"},
                         {"MV2_COMM_WORLD_LOCAL_RANK", "2"},
                         {"MV2_COMM_WORLD_LOCAL_SIZE", "3"}};
const Variables jsm{{"JSM_NAMESPACE_RANK", "2"},
                    {"JSM_NAMESPACE_SIZE", "3"},
                    {"JSM_NAMESPACE_LOCAL_RANK", "2"},
                    {"JSM_NAMESPACE_LOCAL_SIZE", "3"}};
const Variables flux{
    {"FLUX_TASK_RANK", "2"}, {"FLUX_JOB_SIZE", "3"}, {"FLUX_TASK_LOCAL_ID", "2"}, {"FLUX_JOB_NNODES", "1"}};
const Variables flux_of_one{
    {"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "1"}, {"FLUX_TASK_LOCAL_ID", "0"}, {"FLUX_JOB_NNODES", "1"}};
const Variables pmix{{"PMIX_RANK", "2"}, {"PMIX_NAMESPACE", "prterun-n1-4711@1"}};
const Variables pals{{"PALS_RANKID", "2"}, {"PALS_LOCAL_RANKID", "2"}, {"PALS_NODEID", "0"}};
const Variables alps{{"ALPS_APP_PE", "2"}};
const Variables one_ps{{"DISTRIB_PS", "1"}};

}  // namespace

TEST_CASE("LaunchedTask: the first source that has any information counts", "[cluster][launched]") {
  const Variables everything = joined({four_variables, tf_config_variables, open_mpi, slurm, pmi});
  const auto [flags, rest, error] = launched(everything, four_flags);
  REQUIRE_FALSE(error);
  CHECK(flags.launcher == Launcher::flags);
  CHECK(flags.flags.task() == TaskId{"worker", 1});
  CHECK(flags.flags.ps_hosts == Strings{"f:1"});

  const Launched variables = launched(everything, {"--steps", "5"});
  CHECK(variables.rest == Strings{"--steps", "5"});
  CHECK(variables.task.launcher == Launcher::variables);
  CHECK(variables.task.flags.task() == TaskId{"ps", 1});
  CHECK(variables.task.flags.ps_hosts == Strings{"v:1", "v:2"});
  CHECK(variables.task.flags.worker_hosts == Strings{"v:3"});

  const Launched config = launched(joined({tf_config_variables, open_mpi, slurm, pmi}));
  CHECK(config.task.launcher == Launcher::tf_config);
  CHECK(config.task.flags.ps_hosts == Strings{"t:1"});

  CHECK(launched(joined({open_mpi, slurm, pmi})).task.launcher == Launcher::open_mpi);
  CHECK(launched(joined({slurm, one_ps})).task.launcher == Launcher::slurm);
  CHECK(launched(joined({pmi, one_ps})).task.launcher == Launcher::pmi);
  const Launched nobody = launched({{"DISTRIB_PS", "1"}, {"DISTRIB_TASK_INDEX", "3"}, {"TF_CONFIG", ""}});
  REQUIRE_FALSE(nobody.error);
  CHECK(nobody.task.launcher == Launcher::nobody);
  CHECK(nobody.task.flags.local());
  CHECK(to_string(Launcher::open_mpi) == "open_mpi");
  CHECK(to_string(Launcher::nobody) == "nobody");
}

TEST_CASE("LaunchedTask: with any cluster flag the environment is ignored", "[cluster][launched]") {
  const Launched one_flag = launched(four_variables, {"--task_index=0"});
  CHECK_FALSE(one_flag.error);
  CHECK(one_flag.task.launcher == Launcher::flags);
  CHECK(one_flag.task.flags.local());
  CHECK(launched(slurm, {"--job_name=ps"}).error.code == cluster_errc::missing_hosts);
}

TEST_CASE("LaunchedTask: find reads the command line and this process's environment", "[cluster][launched]") {
  Arguments argv{"program"};
  argv.insert(argv.end(), four_flags.begin(), four_flags.end());
  argv.push_back("--mine");
  const auto argc = static_cast<int>(argv.size());
  Strings rest;
  CHECK(LaunchedTask::find(argc, argv.data(), rest).flags.task() == TaskId{"worker", 1});
  CHECK(rest == Strings{"--mine"});
  argv[2] = "--task_index=2";
  CHECK_THROWS_WITH(LaunchedTask::find(argc, argv.data(), rest), ContainsSubstring("--task_index=2: job 'worker'"));
  std::error_code ec;
  CHECK(LaunchedTask::find(argc, argv.data(), rest, ec).flags.local());
  CHECK(ec == cluster_errc::no_such_task);
}

TEST_CASE("LaunchedTask: sources of the index in the environment", "[cluster][launched]") {
  const auto index = [](const Variables& more) {
    const Launched answer = launched(
        joined({{{"DISTRIB_JOB_NAME", "worker"}, {"DISTRIB_PS_HOSTS", "p:1"}, {"DISTRIB_WORKER_HOSTS", "a:1,b:1,c:1"}},
                more}));
    CHECK_FALSE(answer.error);
    return answer.task.flags.task_index;
  };
  CHECK(index({}) == 0);
  CHECK(index({{"DISTRIB_TASK_SLOT", "3"}}) == 2);  // Swarm's slots count from 1
  CHECK(index({{"JOB_COMPLETION_INDEX", "1"}}) == 1);
  CHECK(index({{"DISTRIB_TASK_SLOT", "3"}, {"JOB_COMPLETION_INDEX", "1"}}) == 2);
  CHECK(index({{"DISTRIB_TASK_INDEX", "1"}, {"DISTRIB_TASK_SLOT", "3"}, {"JOB_COMPLETION_INDEX", "2"}}) == 1);
}

TEST_CASE("LaunchedTask: errors name the variables", "[cluster][launched]") {
  struct Refusal {
    Variables changes;
    std::error_code code;
    std::string where;
  };
  const Refusal refusals[] = {
      {{{"DISTRIB_JOB_NAME", "gardener"}},
       cluster_errc::no_such_job,
       "DISTRIB_JOB_NAME=gardener (must be ps, worker, evaluator or onlooker)"},
      {{{"DISTRIB_TASK_INDEX", "2"}}, cluster_errc::no_such_task, "DISTRIB_TASK_INDEX=2: job 'ps' has 2 hosts"},
      {{{"DISTRIB_TASK_INDEX", "one"}}, cluster_errc::bad_integer, "DISTRIB_TASK_INDEX=one"},
      {{{"DISTRIB_PS_HOSTS", "a:1,,b:1"}}, cluster_errc::empty_address, "DISTRIB_PS_HOSTS=a:1,,b:1"},
      {{{"DISTRIB_WORKER_HOSTS", ""}}, cluster_errc::missing_hosts, "DISTRIB_WORKER_HOSTS"},
      {{{"DISTRIB_TASK_SLOT", "0"}}, scheduler_errc::bad_variable, "DISTRIB_TASK_SLOT=0"},
      {{{"DISTRIB_TASK_SLOT", "x"}}, scheduler_errc::bad_variable, "DISTRIB_TASK_SLOT=x"},
      {{{"DISTRIB_JOB_NAME", ""}}, cluster_errc::missing_job, "DISTRIB_JOB_NAME"},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.where);
    const auto [task, rest, error] = launched(joined({four_variables, refusal.changes}));
    CHECK(task.flags.local());
    CHECK(error.code == refusal.code);
    CHECK(error.where == refusal.where);
  }
}

TEST_CASE("LaunchedTask: host lists and a rank", "[cluster][launched]") {
  const Variables lists{{"DISTRIB_PS_HOSTS", "p:1,q:1"}, {"DISTRIB_WORKER_HOSTS", "a:1,b:1,c:1"}};
  for (const Variables& launcher : {open_mpi, joined({slurm, {{"SLURM_PROCID", "3"}}})}) {
    const auto [task, rest, error] = launched(joined({lists, launcher}));
    REQUIRE_FALSE(error);
    CHECK(task.launcher == Launcher::variables);
    CHECK(task.flags.task() == TaskId{"worker", 1});
    CHECK(task.flags.ps_hosts == Strings{"p:1", "q:1"});
    CHECK(task.flags.worker_hosts == Strings{"a:1", "b:1", "c:1"});
  }
  CHECK(launched(joined({lists, open_mpi, {{"OMPI_COMM_WORLD_RANK", "1"}}})).task.flags.task() == TaskId{"ps", 1});
  const Launched other_number = launched(joined({lists, pmi}));
  CHECK(other_number.error.code == scheduler_errc::task_count);
  CHECK(other_number.error.where == "DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS have 5 hosts, the launcher 3 ranks");
  const Variables fewer{{"DISTRIB_PS_HOSTS", "p:1"}, {"DISTRIB_WORKER_HOSTS", "a:1"}};
  CHECK(launched(joined({fewer, pmi})).error.code == scheduler_errc::task_count);
  CHECK(launched(joined({open_mpi, {{"DISTRIB_PS_HOSTS", "p:1"}}})).error.where == "DISTRIB_WORKER_HOSTS");
}

TEST_CASE("LaunchedTask: ranks of mpirun on one machine become tasks", "[cluster][launched]") {
  const auto [task, rest, error] = launched(open_mpi);
  REQUIRE_FALSE(error);
  CHECK(task.flags.task() == TaskId{"worker", 1});  // from mpirun -np 2 ps : -np 3 worker
  CHECK(task.flags.ps_hosts == Strings{"127.0.0.1:8888", "127.0.0.1:8889"});
  CHECK(task.flags.worker_hosts == Strings{"127.0.0.1:8890", "127.0.0.1:8891", "127.0.0.1:8892"});

  const Launched told = launched(joined({open_mpi, {{"DISTRIB_PS", "4"}, {"DISTRIB_PORT_BASE", "3000"}}}));
  REQUIRE_FALSE(told.error);
  CHECK(told.task.flags.task() == TaskId{"ps", 3});
  CHECK(told.task.flags.worker_hosts == Strings{"127.0.0.1:3004"});
  CHECK(launched(joined({pmi, one_ps})).task.flags.task() == TaskId{"worker", 1});

  const Variables alone{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}};
  CHECK_FALSE(launched(alone).error);
  CHECK(launched(alone).task.flags.local());
}

TEST_CASE("LaunchedTask: ranks of MVAPICH2, JSM and Flux on one machine", "[cluster][launched]") {
  struct Row {
    Variables variables;
    Launcher launcher;
    const char* rank;  // the variable of the rank
    const char* elsewhere;  // a variable that says that some ranks are on other machines
    const char* value;
  };
  const Row rows[] = {
      {mvapich2, Launcher::mvapich2, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "2"},
      {jsm, Launcher::jsm, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_SIZE", "2"},
      {flux, Launcher::flux, "FLUX_TASK_RANK", "FLUX_JOB_NNODES", "2"},
  };
  for (const Row& row : rows) {
    CAPTURE(to_string(row.launcher));
    const auto local_rank = [&](const char* rank) {  // except for Flux, it must be below the local size
      Variables changed = joined({row.variables, one_ps, {{row.rank, rank}}});
      for (auto& [name, value] : changed)
        if (name.ends_with("LOCAL_RANK")) value = rank;
      return launched(changed);
    };
    CHECK(local_rank("0").task.flags.task() == TaskId{"ps", 0});
    CHECK(local_rank("1").task.flags.task() == TaskId{"worker", 0});
    const auto [task, rest, error] = launched(joined({row.variables, one_ps}));
    REQUIRE_FALSE(error);
    CHECK(task.launcher == row.launcher);
    CHECK(task.flags.task() == TaskId{"worker", 1});
    CHECK(task.flags.ps_hosts == Strings{"127.0.0.1:8888"});
    CHECK(task.flags.worker_hosts == Strings{"127.0.0.1:8889", "127.0.0.1:8890"});

    CHECK(launched(row.variables).error.code == scheduler_errc::unknown_split);
    const Launched elsewhere =
        launched(joined({row.variables,
                         one_ps,
                         {{row.rank, "1"}, {row.elsewhere, row.value}},
                         {{"MV2_COMM_WORLD_LOCAL_RANK", "1"}, {"JSM_NAMESPACE_LOCAL_RANK", "1"}}}));
    CHECK(elsewhere.error.code == scheduler_errc::unknown_hosts);
    CHECK(elsewhere.error.where == "3 ranks, started by " + to_string(row.launcher));
    CHECK(launched(joined({row.variables, {{row.rank, "3"}}})).error.code == scheduler_errc::no_such_rank);
    CHECK(launched(joined({row.variables, {{row.rank, "x"}}})).error.code == scheduler_errc::bad_variable);

    const Variables lists{{"DISTRIB_PS_HOSTS", "p:1"}, {"DISTRIB_WORKER_HOSTS", "a:1,b:1"}};
    const Launched listed = launched(joined({row.variables, lists}));
    CHECK(listed.task.launcher == Launcher::variables);
    CHECK(listed.task.flags.task() == TaskId{"worker", 1});
  }
}

TEST_CASE("LaunchedTask: a rank without the number of ranks never counts as the whole job", "[cluster][launched]") {
  const Variables lists{{"DISTRIB_PS_HOSTS", "p:1"}, {"DISTRIB_WORKER_HOSTS", "a:1,b:1"}};
  const std::pair<Variables, std::string> rows[] = {{pmix, "pmix"}, {pals, "pals"}, {alps, "alps"}};
  for (const auto& [variables, name] : rows) {
    CAPTURE(name);
    for (const Variables& more : {Variables{}, one_ps}) {
      const auto [task, rest, error] = launched(joined({variables, more}));
      CHECK(error.code == scheduler_errc::unknown_size);
      CHECK(error.where == "rank 2, started by " + name);
      CHECK(to_string(task.launcher) == name);
      CHECK(task.flags.local());
    }
    const Launched listed = launched(joined({variables, lists}));
    REQUIRE_FALSE(listed.error);
    CHECK(listed.task.flags.task() == TaskId{"worker", 1});
    const Launched beyond =
        launched(joined({variables, {{"DISTRIB_PS_HOSTS", "p:1"}, {"DISTRIB_WORKER_HOSTS", "a:1"}}}));
    CHECK(beyond.error.code == scheduler_errc::no_such_rank);
    CHECK(beyond.error.where == "DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS have 2 hosts, this is rank 2");
    const Launched told = launched(variables, {"--job_name="});  // the caller knows that it is the whole job
    CHECK_FALSE(told.error);
    CHECK(told.task.flags.local());
  }
  CHECK(launched({{"PMIX_RANK", "-1"}}).error.code == scheduler_errc::bad_variable);
}

TEST_CASE("LaunchedTask: which launcher counts if several have set variables", "[cluster][launched]") {
  struct Row {
    const char* what;
    Variables variables;
    Launcher launcher;
    TaskId task;  // empty job: the process is the whole job
  };
  const Variables step{{"SLURM_PROCID", "1"},
                       {"SLURM_STEP_NODELIST", "n[1-3]"},
                       {"SLURM_STEP_NUM_TASKS", "3"},
                       {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"}};
  const Variables mpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "3"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};
  const Row rows[] = {
      {"srun --mpi=pmix", joined({step, {{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "slurm.pmix.42.0"}}}), Launcher::slurm,
       TaskId{"worker", 0}},
      {"srun on a Cray", joined({step, {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"PALS_RANKID", "1"}}}), Launcher::slurm,
       TaskId{"worker", 0}},
      {"mpirun of Open MPI 5", joined({mpirun, pmix}), Launcher::open_mpi, TaskId{"worker", 0}},
      {"jsrun", joined({mpirun, jsm, pmix}), Launcher::open_mpi, TaskId{"worker", 0}},
      {"jsrun without Open MPI", joined({jsm, pmix}), Launcher::jsm, TaskId{"worker", 1}},
      {"mpirun_rsh in an salloc", joined({mvapich2, step}), Launcher::mvapich2, TaskId{"worker", 1}},
      {"mpiexec of HPE with PMI", joined({pmi, pals}), Launcher::pmi, TaskId{"worker", 1}},
      {"flux run", joined({flux, {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"PALS_RANKID", "2"}}}), Launcher::flux,
       TaskId{"worker", 1}},
      {"flux run in jsrun", joined({flux, mpirun, jsm}), Launcher::flux, TaskId{"worker", 1}},
      {"flux run in srun", joined({flux, step}), Launcher::flux, TaskId{"worker", 1}},
      {"mpirun in one task of Flux", joined({flux_of_one, mpirun}), Launcher::open_mpi, TaskId{"worker", 0}},
      {"mpirun_rsh in one task of Flux", joined({flux_of_one, mvapich2}), Launcher::mvapich2, TaskId{"worker", 1}},
      {"mpiexec in one task of Flux", joined({flux_of_one, pmi}), Launcher::pmi, TaskId{"worker", 1}},
      {"one task of Flux", joined({flux_of_one, {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"PALS_RANKID", "0"}}}),
       Launcher::flux, TaskId{}},
      {"one task of Flux in srun or jsrun", joined({flux_of_one, step, jsm, pmix}), Launcher::flux, TaskId{}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const auto [task, rest, error] = launched(joined({row.variables, one_ps}));
    CHECK_FALSE(error);
    CHECK(to_string(task.launcher) == to_string(row.launcher));
    CHECK(task.flags.task() == row.task);
  }
  // inside an salloc: the step describes prterun's own daemons
  const Launched prterun = launched(joined({step, pmix, one_ps}));
  CHECK(prterun.error.code == scheduler_errc::unknown_size);
  CHECK(prterun.error.where == "rank 2, started by pmix");
}

TEST_CASE("LaunchedTask: a step of Slurm becomes a cluster", "[cluster][launched]") {
  const auto [task, rest, error] = launched(joined({slurm, {{"DISTRIB_PS", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}}));
  REQUIRE_FALSE(error);
  CHECK(task.flags.task() == TaskId{"worker", 0});
  CHECK(task.flags.ps_hosts == Strings{"n1:8888", "n1:8889"});
  CHECK(task.flags.worker_hosts == Strings{"n2:8888", "n2:8889", "n3:8888"});
  CHECK(task.visible_devices == "0");

  const Variables reserved = joined({slurm, one_ps, {{"SLURM_STEP_RESV_PORTS", "21004-21005"}}});
  CHECK(launched(reserved).task.flags.ps_hosts == Strings{"n1:21004"});
  CHECK(launched(joined({reserved, {{"DISTRIB_PORT_BASE", "3000"}}})).task.flags.ps_hosts == Strings{"n1:3000"});

  const Variables groups{
      {"SLURM_HET_SIZE", "2"}, {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"}, {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"}};
  CHECK(launched(joined({slurm, groups})).task.flags.ps_hosts == Strings{"n1:8888", "n1:8889"});
  CHECK(launched(joined({slurm, groups, one_ps})).task.flags.ps_hosts == Strings{"n1:8888"});
}

TEST_CASE("LaunchedTask: the script of sbatch is not a task of a step", "[cluster][launched]") {
  const auto [task, rest, error] = launched({{"SLURM_PROCID", "0"},
                                             {"SLURM_NTASKS", "3"},
                                             {"SLURM_TASKS_PER_NODE", "2,1"},
                                             {"SLURM_JOB_NODELIST", "n[1-2]"}});
  CHECK_FALSE(error);
  CHECK(task.launcher == Launcher::nobody);
  CHECK(task.flags.local());
}

TEST_CASE("LaunchedTask: inside an allocation, Slurm's variables may describe another launcher's daemons",
          "[cluster][launched]") {
  // mpirun inside an salloc: Slurm's variables describe mpirun's daemons, one per host.
  const Variables daemons{{"SLURM_PROCID", "1"},
                          {"SLURM_STEP_NODELIST", "n[1-3]"},
                          {"SLURM_STEP_NUM_TASKS", "3"},
                          {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"}};
  CHECK(launched(joined({daemons, open_mpi})).task.flags.task() == TaskId{"worker", 1});
  // MPICH's mpiexec inside an salloc: 3 ranks, 2 daemons.
  const Launched mpich = launched(joined({daemons, {{"SLURM_STEP_NUM_TASKS", "2"}}, pmi, one_ps}));
  CHECK(mpich.task.launcher == Launcher::pmi);
  CHECK(mpich.task.flags.task() == TaskId{"worker", 1});
  // srun --mpi=pmi2: both describe the same ranks.
  const Launched pmi2 = launched(joined({daemons, {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}, one_ps}));
  CHECK(pmi2.task.launcher == Launcher::slurm);
  CHECK(pmi2.task.flags.task() == TaskId{"worker", 0});
}

TEST_CASE("LaunchedTask: errors name what the scheduler does not set", "[cluster][launched]") {
  struct Refusal {
    Variables variables;
    scheduler_errc code;
    std::string where;
  };
  const Refusal refusals[] = {
      {slurm, scheduler_errc::unknown_split, "5 tasks, started by slurm"},
      {joined({slurm, {{"DISTRIB_PS", "0"}}}), scheduler_errc::unknown_split, "5 tasks, started by slurm"},
      {joined({slurm, {{"DISTRIB_PS", "5"}}}), scheduler_errc::unknown_split, "5 tasks, started by slurm"},
      {joined({slurm, {{"DISTRIB_PS", "x"}}}), scheduler_errc::bad_variable, "DISTRIB_PS=x"},
      {joined({slurm, one_ps, {{"DISTRIB_PORT_BASE", "65536"}}}), scheduler_errc::bad_variable,
       "DISTRIB_PORT_BASE=65536"},
      {joined({slurm, one_ps, {{"SLURMD_NODENAME", "n3"}}}), scheduler_errc::placed_elsewhere,
       "task 0 of n3, in the node list task 0 of n2"},
      {joined({slurm, one_ps, {{"SLURM_PROCID", "5"}}}), scheduler_errc::no_such_rank, "SLURM_PROCID=5 of 5 tasks"},
      {joined({slurm, {{"SLURM_PROCID", "x"}}}), scheduler_errc::bad_variable, "SLURM_PROCID=x"},
      {joined({open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}}), scheduler_errc::unknown_hosts,
       "5 ranks, started by open_mpi"},
      {joined({open_mpi, {{"OMPI_COMM_WORLD_RANK", "9"}}}), scheduler_errc::no_such_rank,
       "OMPI_COMM_WORLD_RANK=9, OMPI_COMM_WORLD_SIZE=5"},
      {joined({open_mpi, {{"DISTRIB_PORT_BASE", "65533"}}}), scheduler_errc::bad_port, "DISTRIB_PORT_BASE=65533"},
      {joined({pmi, {{"PMI_SIZE", "x"}}}), scheduler_errc::bad_variable, "PMI_SIZE=x"},
      {pmi, scheduler_errc::unknown_split, "3 tasks, started by pmi"},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.where);
    const auto [task, rest, error] = launched(refusal.variables);
    CHECK(task.flags.local());
    CHECK(error.code == refusal.code);
    CHECK(error.where == refusal.where);
  }
}

TEST_CASE("LaunchedTask: exit_code returns the code that asks for a restart", "[cluster][launched]") {
  CHECK(launched({}).task.exit_code(1) == 1);
  const Launched answer = launched({{"DISTRIB_RETRY_EXIT_CODE", "138"}}, four_flags);
  CHECK_FALSE(answer.error);
  CHECK(answer.task.launcher == Launcher::flags);
  CHECK(answer.task.exit_code(1) == 138);
  for (const int code : {0, 65, 70, 74, 137}) CHECK(answer.task.exit_code(code) == code);

  for (const char* text : {"0", "256", "-1", "x"}) {
    const Error error = launched({{"DISTRIB_RETRY_EXIT_CODE", text}}).error;
    CHECK(error.code == scheduler_errc::bad_variable);
    CHECK(error.where == "DISTRIB_RETRY_EXIT_CODE=" + std::string{text});
  }
}

TEST_CASE("LaunchedTask: the number of dealt ranks, by a flag or a variable, beside any source", "[cluster]") {
  CHECK(launched(four_variables).task.flags.ranks == 0);
  CHECK(launched(joined({four_variables, {{"DISTRIB_RANKS", "16"}}})).task.flags.ranks == 16);
  CHECK(launched(joined({tf_config_variables, {{"DISTRIB_RANKS", "16"}}}), {"--ranks=9", "-x"}).task.flags.ranks == 9);
  CHECK(launched(tf_config_variables, {"--ranks", "9", "-x"}).rest == Strings{"-x"});
  CHECK(launched(tf_config_variables, {"--ranks", "9"}).task.launcher == Launcher::tf_config);
  Arguments flags = four_flags;
  flags.push_back("--ranks=1048576");
  CHECK(launched({}, flags).task.flags.ranks == 1U << 20);
  for (const char* wrong : {"--ranks=0", "--ranks=1048577", "--ranks=many", "--ranks=-1"}) {
    flags.back() = wrong;
    const Launched refused = launched({}, flags);
    CHECK(refused.error.code == cluster_errc::bad_integer);
    CHECK(refused.error.where == wrong);
  }
  CHECK(launched(joined({four_variables, {{"DISTRIB_RANKS", "x"}}})).error.code == cluster_errc::bad_integer);
}

TEST_CASE("LaunchedTask: the most ranks that there may be, by a flag or a variable, also in one process", "[cluster]") {
  CHECK(launched(four_variables).task.flags.most_ranks == 0);
  CHECK(launched(joined({four_variables, {{"DISTRIB_MOST_RANKS", "64"}}})).task.flags.most_ranks == 64);
  const Launched both = launched(tf_config_variables, {"--most_ranks=9", "--ranks", "4", "-x"});
  CHECK(both.task.flags.most_ranks == 9);
  CHECK(both.task.flags.ranks == 4);
  CHECK(both.rest == Strings{"-x"});
  const Launched alone = launched({}, {"--most_ranks", "9"});
  CHECK(alone.task.flags.local());
  CHECK(alone.task.flags.most_ranks == 9);
  for (const char* wrong : {"--most_ranks=0", "--most_ranks=1048577", "--most_ranks=x"}) {
    const Launched refused = launched({}, {wrong});
    CHECK(refused.error.code == cluster_errc::bad_integer);
    CHECK(refused.error.where == wrong);
  }
  CHECK(launched({{"DISTRIB_MOST_RANKS", "x"}}).error.code == cluster_errc::bad_integer);
}
