// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/cluster_flags.hpp>

#include <distrib/cluster/server_def.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstdlib>
#include <fstream>

using distrib::cluster_errc;
using distrib::ClusterFlags;
using distrib::ClusterSpec;
using distrib::Error;
using Strings = std::vector<std::string>;
using Arguments = std::vector<const char*>;

namespace {

struct KnownFlags {
  ClusterFlags flags;
  Strings rest;
  Error error;
};

/// As `parse_known`, but without reading the environment.
auto known(const Arguments& arguments, std::string_view tf_config = "") -> KnownFlags {
  KnownFlags answer;
  answer.flags = ClusterFlags::from(arguments, tf_config, answer.rest, answer.error);
  return answer;
}

/// Sets TF_CONFIG for the duration of a test.
class TfConfigVariable {
 public:
  explicit TfConfigVariable(const char* tf_config) { ::setenv("TF_CONFIG", tf_config, 1); }
  TfConfigVariable(const TfConfigVariable&) = delete;
  ~TfConfigVariable() { ::unsetenv("TF_CONFIG"); }
};

const std::string worker_tf_config =
    R"({"cluster": {"ps": ["p0:1"], "worker": ["w0:1", "w1:1"]}, "task": {"type": "worker", "index": 1}})";

}  // namespace

TEST_CASE("ClusterFlags: the flags of a worker", "[cluster][flags]") {
  const Arguments forms[] = {
      {"--job_name=worker", "--task_index=1", "--ps_hosts=p0:1,p1:1", "--worker_hosts=w0:1,w1:1"},
      {"--job_name", "worker", "--task_index", "1", "--ps_hosts", "p0:1,p1:1", "--worker_hosts", "w0:1,w1:1"},
      {"-job_name=worker", "-task_index", "0x1", "-ps_hosts=p0:1,p1:1", "-worker_hosts", "w0:1,w1:1"},
      {"--job_name=ps", "--task_index=7", "--job_name=worker", "--ps_hosts=p0:1,p1:1", "--worker_hosts=w0:1,w1:1",
       "--task_index=1"},  // the last value of a flag counts
  };
  for (const Arguments& arguments : forms) {
    const auto [flags, rest, error] = known(arguments, "never looked at");
    REQUIRE_FALSE(error);
    CHECK(rest.empty());
    CHECK_FALSE(flags.local());
    CHECK(flags.job_name == "worker");
    CHECK(flags.task_index == 1);
    CHECK(flags.ps_hosts == Strings{"p0:1", "p1:1"});
    CHECK(flags.worker_hosts == Strings{"w0:1", "w1:1"});
    CHECK(flags.task() == distrib::TaskId{"worker", 1});
    CHECK(flags.worker_device() == "/job:worker/task:1");
    CHECK_FALSE(flags.is_chief());
    CHECK(flags.cluster() == ClusterSpec{{"ps", {"p0:1", "p1:1"}}, {"worker", {"w0:1", "w1:1"}}});
  }
}

TEST_CASE("ClusterFlags: the default index is 0, and worker 0 is the chief", "[cluster][flags]") {
  const ClusterFlags flags = known({"--job_name=worker", "--ps_hosts=p0:1", "--worker_hosts=w0:1,w1:1"}).flags;
  CHECK(flags.task_index == 0);
  CHECK(flags.is_chief());
  CHECK(flags.worker_device() == "/job:worker/task:0");
  CHECK_FALSE(known({"--job_name", "ps", "--task_index", "0", "--ps_hosts", "p0:1", "--worker_hosts", "w0:1"})
                  .flags.is_chief());
}

TEST_CASE("ClusterFlags: an evaluator has the flags of the other tasks, and is in no list", "[cluster][flags]") {
  const ClusterFlags flags =
      known({"--job_name=evaluator", "--task_index=0", "--ps_hosts=p0:1", "--worker_hosts=w0:1,w1:1"}).flags;
  CHECK(flags.task() == distrib::TaskId{"evaluator", 0});
  CHECK_FALSE(flags.local());
  CHECK_FALSE(flags.is_chief());
  CHECK(flags.cluster() == ClusterSpec{{"ps", {"p0:1"}}, {"worker", {"w0:1", "w1:1"}}});
}

TEST_CASE("ClusterFlags: without a job name there is one process", "[cluster][flags]") {
  for (const Arguments& arguments : {Arguments{}, Arguments{"--job_name="}, Arguments{"--ps_hosts=p0:1"}}) {
    const auto [flags, rest, error] = known(arguments);
    CHECK_FALSE(error);
    CHECK(flags.local());
    CHECK_FALSE(flags.cluster());
  }
}

TEST_CASE("ClusterFlags: other arguments are returned in order", "[cluster][flags]") {
  const Arguments arguments = {"--steps",        "5",  "--job_name=worker", "train",
                               "--ps_hosts=p:1", "-",  "--lr=0.1",          "--worker_hosts=w:1",
                               "--nojob_name",   "--", "--job_name=ps",     "last"};
  const auto [flags, rest, error] = known(arguments);
  REQUIRE_FALSE(error);
  CHECK(rest == Strings{"--steps", "5", "train", "-", "--lr=0.1", "--nojob_name", "--", "--job_name=ps", "last"});
  CHECK(flags.job_name == "worker");
}

TEST_CASE("ClusterFlags: an onlooker has the flags of the other tasks and any index, and is in no list",
          "[cluster][flags]") {
  const auto [flags, rest, error] =
      known({"--job_name=onlooker", "--task_index=7", "--ps_hosts=p0:1", "--worker_hosts=w0:1,w1:1"});
  REQUIRE_FALSE(error);
  CHECK(flags.task() == distrib::TaskId{"onlooker", 7});
  CHECK_FALSE(flags.is_chief());
  CHECK(flags.cluster() == ClusterSpec{{"ps", {"p0:1"}}, {"worker", {"w0:1", "w1:1"}}});
}

TEST_CASE("ClusterFlags: an error says what to pass", "[cluster][flags]") {
  struct Refusal {
    Arguments arguments;
    std::error_code code;
    std::string text;
  };
  const char* ps = "--ps_hosts=p0:1";
  const char* workers = "--worker_hosts=w0:1,w1:1";
  const Refusal refusals[] = {
      {{"--job_name=worker", workers}, cluster_errc::missing_hosts, "--ps_hosts: must be given"},
      {{"--job_name=ps", ps}, cluster_errc::missing_hosts, "--worker_hosts: must be given"},
      {{"--job_name=ps", ps, "--worker_hosts="}, cluster_errc::missing_hosts, "--worker_hosts: must be given"},
      {{"--job_name=ps", ps, "--worker_hosts=w:1,,"}, cluster_errc::empty_address, "--worker_hosts=w:1,,: an entry"},
      {{"--job_name=worker", ps, workers, "--task_index=2"},
       cluster_errc::no_such_task,
       "--task_index=2: job 'worker' has 2 hosts: no task"},
      {{"--job_name=ps", ps, workers, "--task_index=1"}, cluster_errc::no_such_task, "job 'ps' has 1 host:"},
      {{"--job_name=ps", ps, workers, "--task_index=1.5"},
       cluster_errc::bad_integer,
       "--task_index=1.5: must be a whole number"},
      {{"--job_name=ps", ps, workers, "--task_index=4294967296"}, cluster_errc::bad_integer, "a whole number"},
      {{"--job_name=ps", ps, workers, "--task_index=-1"},
       cluster_errc::bad_integer,
       "--task_index=-1: must be a whole"},
      {{"--job_name=ps", ps, workers, "--task_index="}, cluster_errc::bad_integer, "--task_index=: must be a whole"},
      {{"--job_name=gardener", ps, workers}, cluster_errc::no_such_job, "--job_name=gardener (must be ps, worker, eva"},
      {{"--job_name=evaluator", ps, workers, "--task_index=1"},
       cluster_errc::no_such_task,
       "job 'evaluator' has 1 task:"},
      {{"--job_name=evaluator", ps}, cluster_errc::missing_hosts, "--worker_hosts: must be given"},
      {{"--job_name"}, cluster_errc::missing_value, "--job_name: the flag needs a value"},
      {{ps, "--task_indx=1"}, cluster_errc::unknown_flag, "--task_indx=1: unknown flag; known are --job_name"},
      {{ps, "train"}, cluster_errc::unknown_flag, "train: unknown flag"},
      {{ps, "--", "--job_name=ps"}, cluster_errc::unknown_flag, "--job_name=ps: unknown flag"},
  };
  for (const Refusal& refusal : refusals) {
    Arguments argv = {"program"};
    argv.insert(argv.end(), refusal.arguments.begin(), refusal.arguments.end());
    const auto argc = static_cast<int>(argv.size());
    CAPTURE(refusal.text);
    std::error_code ec;
    CHECK(ClusterFlags::parse(argc, argv.data(), ec) == ClusterFlags{});
    CHECK(ec == refusal.code);
    CHECK_THROWS_WITH(ClusterFlags::parse(argc, argv.data()), ContainsSubstring(refusal.text));

    Strings rest;
    const bool only_strict = refusal.code == cluster_errc::unknown_flag;
    (void)ClusterFlags::parse_known(argc, argv.data(), rest, ec);
    CHECK(ec == (only_strict ? std::error_code{} : refusal.code));
    if (!only_strict)
      CHECK_THROWS_WITH(ClusterFlags::parse_known(argc, argv.data(), rest), ContainsSubstring(refusal.text));
  }
}

TEST_CASE("ClusterFlags: accepts a task that is not listed, as upstream's mnist.py does", "[cluster][flags]") {
  const Arguments arguments = {"--job_name=worker", "--task_index=1", "--ps_hosts=p0:1,p1:1", "--worker_hosts=w0:1"};
  Strings rest;
  distrib::Error error;
  const auto flags =
      ClusterFlags::from(arguments, "", rest, error, distrib::ClusterFlags::UnlistedTask::leave_like_upstream);
  REQUIRE_FALSE(error);
  CHECK(flags.task_index == 1);
  CHECK_FALSE(flags.is_chief());
  CHECK(flags.worker_device() == "/job:worker/task:1");
  std::error_code ec;
  const auto task = flags.task();
  distrib::check_server_def({.cluster = flags.cluster(), .job_name = task.job, .task_index = task.index}, ec);
  CHECK(ec == cluster_errc::no_such_task);
}

TEST_CASE("ClusterFlags: a bare -- is not an unknown flag", "[cluster][flags]") {
  const Arguments argv = {"program", "--"};
  CHECK(ClusterFlags::parse(2, argv.data()).local());
  CHECK(ClusterFlags::parse(0, nullptr).local());
}

TEST_CASE("ClusterFlags: TF_CONFIG is read only if no cluster flag is present", "[cluster][flags]") {
  const auto [flags, rest, error] = known({"--steps=5"}, worker_tf_config);
  REQUIRE_FALSE(error);
  CHECK(rest == Strings{"--steps=5"});
  CHECK(flags.task() == distrib::TaskId{"worker", 1});
  CHECK(flags.ps_hosts == Strings{"p0:1"});
  CHECK(flags.worker_hosts == Strings{"w0:1", "w1:1"});
  CHECK(known({"--task_index=0"}, worker_tf_config).flags.local());

  const TfConfigVariable environment{worker_tf_config.c_str()};
  const Arguments argv = {"program"};
  CHECK(ClusterFlags::parse(1, argv.data()) == flags);
  Strings left;
  CHECK(ClusterFlags::parse_known(1, argv.data(), left) == flags);
}

TEST_CASE("ClusterFlags: TF_CONFIG with a chief", "[cluster][flags]") {
  const std::string cluster = R"({"cluster": {"chief": ["c:1"], "ps": ["p:1"], "worker": ["w:1"]}, "task": )";
  const ClusterFlags chief = known({}, cluster + R"({"type": "chief", "index": 0}})").flags;
  CHECK(chief.is_chief());
  CHECK(chief.worker_device() == "/job:chief/task:0");
  CHECK(chief.chief_hosts == Strings{"c:1"});
  CHECK(chief.cluster() == ClusterSpec{{"chief", {"c:1"}}, {"ps", {"p:1"}}, {"worker", {"w:1"}}});
  CHECK_FALSE(known({}, cluster + R"({"type": "worker", "index": 0}})").flags.is_chief());
  CHECK(known({}, cluster + R"({"type": "evaluator", "index": 0}})").flags.job_name == "evaluator");
  CHECK(known({}, cluster + R"({"type": "onlooker", "index": 3}})").flags.task() == distrib::TaskId{"onlooker", 3});
}

TEST_CASE("ClusterFlags: TF_CONFIG with a chief and no worker", "[cluster][flags]") {
  for (const char* jobs :
       {R"("chief": ["c:1"], "ps": ["p:1"])", R"("worker": [], "chief": {"0": "c:1"}, "ps": ["p:1"])"}) {
    const std::string cluster = R"({"cluster": {)" + std::string{jobs} + R"(}, "task": )";
    for (const char* task : {R"({"type": "chief", "index": 0}})", R"({"type": "ps", "index": 0}})"}) {
      CAPTURE(jobs, task);
      const auto [flags, rest, error] = known({}, cluster + task);
      REQUIRE_FALSE(error);
      CHECK(flags.worker_hosts.empty());
      CHECK(flags.cluster() == ClusterSpec{{"chief", {"c:1"}}, {"ps", {"p:1"}}});
      CHECK(flags.is_chief() == (flags.job_name == "chief"));
      CHECK(rank_count(flags.cluster()) == 1);
    }
  }
}

TEST_CASE("ClusterFlags: TensorFlow 1's master is the chief", "[cluster][flags]") {
  const std::string cluster =
      R"({"environment": "cloud", "cluster": {"master": ["m:1"], "ps": ["p:1"], "worker": ["w:1"]}, "task": )";
  const ClusterFlags chief = known({}, cluster + R"({"type": "master", "index": 0}})").flags;
  CHECK(chief.task() == distrib::TaskId{"chief", 0});
  CHECK(chief.is_chief());
  CHECK(chief.cluster() == ClusterSpec{{"chief", {"m:1"}}, {"ps", {"p:1"}}, {"worker", {"w:1"}}});
  const ClusterFlags worker = known({}, cluster + R"({"type": "worker", "index": 0}})").flags;
  CHECK(worker.cluster() == chief.cluster());
  CHECK_FALSE(worker.is_chief());
  CHECK(known({}, cluster + R"({"type": "ps", "index": 0}})").flags.cluster() == chief.cluster());
  const auto alone = known({}, R"({"cluster": {"master": ["m:1"]}, "task": {"type": "master", "index": 0}})");
  CHECK_FALSE(alone.error);
  CHECK(alone.flags.local());
}

TEST_CASE("ClusterFlags: a TF_CONFIG that does not name all tasks is refused, whichever task reads it",
          "[cluster][flags]") {
  struct Refusal {
    std::string text;
    std::string where;
  };
  const std::string gap = "TF_CONFIG: job 'worker' has no task ";
  const std::string alone = "TF_CONFIG: sparseCluster does not name the other workers";
  const Refusal refusals[] = {
      // the TF_CONFIG of Kubeflow's dynamic workers: for worker 1, worker 0, and each of two ps
      {R"({"sparseCluster": {"worker": {"1": "w1:1"}, "ps": ["p0:1"]}, "task": {"type": "worker", "index": 1}})",
       gap + "0"},
      {R"({"sparseCluster": {"worker": {"0": "w0:1"}, "ps": ["p0:1"]}, "task": {"type": "worker", "index": 0}})",
       alone},
      {R"({"sparseCluster": {"worker": {}, "ps": ["p0:1"]}, "task": {"type": "ps", "index": 0}})", alone},
      {R"({"sparseCluster": {"worker": {}, "ps": ["p1:1"]}, "task": {"type": "ps", "index": 1}})", alone},
      // without ps: each worker would take itself for the whole job
      {R"({"sparseCluster": {"worker": {"0": "w0:1"}, "ps": []}, "task": {"type": "worker", "index": 0}})", alone},
      {R"({"cluster": {"worker": {"2": "w2:1"}}, "task": {"type": "worker", "index": 2}})", gap + "0"},
      // the index of this task exists, is in the gap, or is missing
      {R"({"cluster": {"ps": ["p:1"], "worker": {"0": "a:1", "2": "c:1"}}, "task": {"type": "worker", "index": 2}})",
       gap + "1"},
      {R"({"cluster": {"ps": ["p:1"], "worker": {"0": "a:1", "2": "c:1"}}, "task": {"type": "worker", "index": 1}})",
       gap + "1"},
      {R"({"cluster": {"ps": {"1": "p:1"}, "worker": ["w:1"]}})", "TF_CONFIG: job 'ps' has no task 0"},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.text);
    const auto [flags, rest, error] = known({}, refusal.text);
    CHECK(flags == ClusterFlags{});
    CHECK(error.code == cluster_errc::sparse_job);
    CHECK(error.where == refusal.where);
  }
  const auto whole = known({}, R"({"sparseCluster": {"worker": {"0": "a:1", "1": "b:1"}, "ps": ["p:1"]},
                                   "task": {"type": "worker", "index": 1}})");
  CHECK_FALSE(whole.error);
  CHECK(whole.flags.worker_hosts == Strings{"a:1", "b:1"});
}

TEST_CASE("ClusterFlags: TF_CONFIG of one process is local", "[cluster][flags]") {
  for (const char* text :
       {"", "{}", R"({"task": {"type": "worker", "index": 0}})", R"({"cluster": {"worker": ["w:1"]}})",
        R"({"cluster": {"chief": ["c:1"]}, "task": {"type": "chief", "index": 0}})",
        R"({"cluster": {"chief": ["c:1"], "ps": [], "worker": []}, "task": {"type": "chief", "index": 0}})"}) {
    const auto [flags, rest, error] = known({}, text);
    CHECK_FALSE(error);
    CHECK(flags.local());
  }
}

TEST_CASE("ClusterFlags: errors in TF_CONFIG name their place", "[cluster][flags]") {
  struct Refusal {
    std::string text;
    std::error_code code;
    std::string where;
  };
  const std::string two = R"({"cluster": {"ps": ["p:1"], "worker": ["w:1"]})";
  const Refusal refusals[] = {
      {"{", distrib::json_errc::unexpected_end, "TF_CONFIG at offset 1"},
      {two + "}", cluster_errc::missing_job, "TF_CONFIG: task.type"},
      {two + R"(, "task": {"type": "ps"}})", cluster_errc::missing_index, "TF_CONFIG: task.index"},
      {two + R"(, "task": {"type": "ps", "index": 1}})", cluster_errc::no_such_task, "TF_CONFIG: /job:ps/task:1"},
      {two + R"(, "task": {"type": "chief", "index": 0}})", cluster_errc::no_such_job, "TF_CONFIG: /job:chief/task:0"},
      {two + R"(, "task": {"type": "master", "index": 0}})", cluster_errc::bad_role, "TF_CONFIG: /job:master/task:0"},
      {R"({"cluster": {"ps": ["p:1"], "worker": {"2": "w:1"}}, "task": {"type": "ps", "index": 0}})",
       cluster_errc::sparse_job, "TF_CONFIG: job 'worker' has no task 0"},
      {R"({"cluster": {"ps": ["p:1"], "master": ["m:1"], "chief": ["c:1"]}, "task": {"type": "ps", "index": 0}})",
       cluster_errc::bad_role, "TF_CONFIG: both a chief and a master"},
      {R"({"cluster": {"ps": ["p:1"], "master": ["m:1"]}, "task": {"type": "master", "index": 1}})",
       cluster_errc::no_such_task, "TF_CONFIG: /job:master/task:1"},
      {R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}})", cluster_errc::empty_job,
       "TF_CONFIG: cluster.ps"},
      {R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}})", cluster_errc::empty_job,
       "TF_CONFIG: cluster.worker"},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.text);
    const auto [flags, rest, error] = known({}, refusal.text);
    CHECK(flags == ClusterFlags{});
    CHECK(error.code == refusal.code);
    CHECK(error.where == refusal.where);
  }
}

TEST_CASE("ClusterFlags: the lines of the 2016 program work", "[cluster][flags]") {
  const Arguments argv = {"trainer", "--job_name=worker", "--task_index=0", "--ps_hosts=p:1", "--worker_hosts=w:1"};
  const auto flags = distrib::ClusterFlags::parse(static_cast<int>(argv.size()), argv.data());
  REQUIRE_FALSE(flags.local());
  distrib::ClusterSpec cluster{{"ps", flags.ps_hosts}, {"worker", flags.worker_hosts}};
  CHECK(cluster.task_address(flags.job_name, flags.task_index) == "w:1");
}

TEST_CASE("ClusterFlags: flags from a file, and the text for --help", "[cluster][flags]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "flags").string();
  std::ofstream{path} << "--job_name=worker\n--ps_hosts=p0:1\n--worker_hosts=w0:1,w1:1\n--mine\n";
  const std::string flag = "--flagfile=" + path;
  const Arguments arguments{"program", flag.c_str(), "--task_index=1"};
  Strings rest;
  const auto flags = ClusterFlags::parse_known(static_cast<int>(arguments.size()), arguments.data(), rest);
  CHECK(flags.task() == distrib::TaskId{"worker", 1});
  CHECK(rest == Strings{"--mine"});

  const Arguments missing{"program", "--flagfile=/none"};
  Error error;
  CHECK(ClusterFlags::parse(2, missing.data(), error).local());
  CHECK(error.code == std::errc::no_such_file_or_directory);
  CHECK(error.where == "--flagfile=/none");

  const std::string help = ClusterFlags::help();
  for (const distrib::ClusterFlags::FlagInfo& known : ClusterFlags::known)
    CHECK(help.find("  --" + std::string{known.name} + " ") != std::string::npos);
  CHECK(help.starts_with("  --task_index        index of this process in its job"));
  CHECK(help.ends_with("  --flagfile          PATH of a file with more flags, one per line\n"));
}
