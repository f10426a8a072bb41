// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/slurm_host_list.hpp>

#include <distrib/cluster/scheduler_error.hpp>

#include "support/catch.hpp"

using distrib::Error;
using distrib::expand_host_list;
using distrib::expand_tasks_per_node;
using distrib::scheduler_errc;
using distrib::detail::max_slurm_tasks;
using Strings = std::vector<std::string>;
using Counts = std::vector<std::uint32_t>;

TEST_CASE("expand_host_list: the hosts of each form", "[cluster][slurm]") {
  CHECK(expand_host_list("n1") == Strings{"n1"});
  CHECK(expand_host_list("n[1,3]") == Strings{"n1", "n3"});
  CHECK(expand_host_list("n[1-2],m5,o[3-4,6,7-9]") == Strings{"n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"});
  CHECK(expand_host_list("[7-8]") == Strings{"7", "8"});
  CHECK(expand_host_list("").empty());
  CHECK(expand_host_list("n1,") == Strings{"n1"});
  CHECK(expand_host_list("rack-2.node-[1-2]") == Strings{"rack-2.node-1", "rack-2.node-2"});
}

TEST_CASE("expand_host_list: several brackets and text after the last one, in the order of scontrol",
          "[cluster][slurm]") {
  CHECK(expand_host_list("rack[0-1]node[0-1]") == Strings{"rack0node0", "rack0node1", "rack1node0", "rack1node1"});
  CHECK(expand_host_list("node[1-2].cluster") == Strings{"node1.cluster", "node2.cluster"});
  CHECK(expand_host_list("r[2,0-1]n[08-09].lan,m1") ==
        Strings{"r2n08.lan", "r2n09.lan", "r0n08.lan", "r0n09.lan", "r1n08.lan", "r1n09.lan", "m1"});
  CHECK(expand_host_list("n[1-2][3-4]") == Strings{"n13", "n14", "n23", "n24"});
  CHECK(expand_host_list("[1-2]a[3]") == Strings{"1a3", "2a3"});
  // the second of three changes slowest, then the first: hostlist.c expands brackets from the right, except the last
  // one
  CHECK(expand_host_list("a[0-1]b[0-1]c[0-1]") ==
        Strings{"a0b0c0", "a0b0c1", "a1b0c0", "a1b0c1", "a0b1c0", "a0b1c1", "a1b1c0", "a1b1c1"});
  CHECK(expand_host_list("a[2-1]b[0-9],c[3-1]d[0-1].e").empty());
}

TEST_CASE("expand_host_list: pads numbers to the width of the first number of a range", "[cluster][slurm]") {
  CHECK(expand_host_list("h-[08-11]") == Strings{"h-08", "h-09", "h-10", "h-11"});
  CHECK(expand_host_list("h[8-011]") == Strings{"h8", "h9", "h10", "h11"});
  CHECK(expand_host_list("h[099-101,1]") == Strings{"h099", "h100", "h101", "h1"});
  CHECK(expand_host_list("h[000]") == Strings{"h000"});
}

TEST_CASE("expand_host_list: keeps the order and duplicates; backward ranges are empty", "[cluster][slurm]") {
  CHECK(expand_host_list("n[3,1],n3") == Strings{"n3", "n1", "n3"});
  CHECK(expand_host_list("n[3-1]").empty());
  CHECK(expand_host_list("n[3-1,5],m") == Strings{"n5", "m"});
}

TEST_CASE("expand_host_list: refuses other texts and names the place", "[cluster][slurm]") {
  for (const char* list : {"n[1-2",    "n1-2]",
                           "n]",       "n[]",
                           "[",        ",",
                           ",n1",      "n1,,n2",
                           "n[1]]",    "n[1][",
                           "n[1]x]",   "n[1]x[",
                           "n[1[2]]",  "n[a]",
                           "n[1]x[]y", "n[1][b]",
                           "n[1-b]",   "n[-1]",
                           "n[1-]",    "n[1-2-3]",
                           "n[1,]",    "n[,1]",
                           "n[1-9:2]", "n[ 1]",
                           "n[+1]",    "n[99999999999999999999]"}) {
    CAPTURE(list);
    Error error;
    CHECK(expand_host_list(list, error).empty());
    CHECK(error.code == scheduler_errc::bad_host_list);
    std::error_code ec;
    CHECK(expand_host_list(list, ec).empty());
    CHECK(ec == scheduler_errc::bad_host_list);
  }
  CHECK_THROWS_WITH(expand_host_list("n[1-2"), ContainsSubstring("'n[1-2' at offset 1: invalid host list"));
}

TEST_CASE("expand_host_list: refuses long lists before it allocates memory", "[cluster][slurm]") {
  CHECK(expand_host_list("n[1-65536]").size() == max_slurm_tasks);
  CHECK(expand_host_list("n[1-256]m[1-256]").size() == max_slurm_tasks);
  const std::string long_name(300, 'n');
  for (const std::string& list :
       {std::string{"n[0-999999999999]"}, std::string{"n[0-18446744073709551615]"}, std::string{"n[1-65537]"},
        std::string{"n[1-65536],m"}, std::string{"n[1-65536],m[1]"}, long_name, long_name + "[1-2]",
        "n[" + std::string(300, '0') + "1-2]", std::string{"n[0-65535]m[0-65535]"}, std::string{"n[1-257]m[0-255]"},
        std::string{"n[0-65535,0]"}, "n[1-2]" + long_name, std::string{"a[0-9]b[0-9]c[0-9]d[0-9]e[0-9]f[0-9]"},
        std::string{"n[1-2]m[0-4294967295].x"}}) {
    CAPTURE(list.substr(0, 30));
    Error error;
    CHECK(expand_host_list(list, error).empty());
    CHECK(error.code == scheduler_errc::too_many_tasks);
  }
}

TEST_CASE("expand_tasks_per_node: counts with and without repetition", "[cluster][slurm]") {
  CHECK(expand_tasks_per_node("2") == Counts{2});
  CHECK(expand_tasks_per_node("2,1,3") == Counts{2, 1, 3});
  CHECK(expand_tasks_per_node("3(x2),2,11(x4)") == Counts{3, 3, 2, 11, 11, 11, 11});
  CHECK(expand_tasks_per_node("2(x0),0,1") == Counts{0, 1});
  CHECK(expand_tasks_per_node("007") == Counts{7});
}

TEST_CASE("expand_tasks_per_node: refuses other texts", "[cluster][slurm]") {
  for (const char* list : {"", ",", "2,", ",2", "x", "-1", "+1", " 1", "2(3)", "2(x)", "2(x3", "2x3", "(x3)",
                           "2(x3)(x2)", "2(x3)4", "2(x-1)", "2.0"}) {
    CAPTURE(list);
    Error error;
    CHECK(expand_tasks_per_node(list, error).empty());
    CHECK(error.code == scheduler_errc::bad_tasks_per_node);
  }
  CHECK_THROWS_WITH(expand_tasks_per_node("2x3"), ContainsSubstring("'2x3': invalid list of tasks per node"));
  for (const char* list : {"65537", "1(x65537)", "0(x1000000000000)", "1000000000000", "65536,1", "256(x257)",
                           "4294967296(x4294967296)"}) {
    CAPTURE(list);
    std::error_code ec;
    CHECK(expand_tasks_per_node(list, ec).empty());
    CHECK(ec == scheduler_errc::too_many_tasks);
  }
  CHECK(expand_tasks_per_node("256(x256)").size() == 256);
}
