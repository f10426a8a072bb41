// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/lineage.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::Job;
using distrib::Lineage;
using distrib::parse_lineage;
using distrib::settings_hash;
using distrib::Sha256Digest;

namespace {

auto settings(unsigned char number) -> Sha256Digest {
  Sha256Digest digest{};
  digest.fill(std::byte{number});
  return digest;
}

auto hash_of(const Job& job) -> Sha256Digest { return settings_hash(job); }

}  // namespace

TEST_CASE("Lineage: settings hold from the step at which a job continues with them", "[ps]") {
  const Lineage initial;
  CHECK(initial.empty());
  const Lineage first = initial.continued(0, settings(1));
  CHECK(first.entries() == std::vector<Lineage::Entry>{{0, settings(1)}});
  CHECK(first.until(0) == initial);
  CHECK(first.until(15) == first);
  CHECK(first.continued(15, settings(1)) == first);  // a restart that changes nothing

  const Lineage changed = first.continued(15, settings(2));
  CHECK(changed.entries() == std::vector<Lineage::Entry>{{0, settings(1)}, {15, settings(2)}});
  CHECK(changed.until(15) == first);  // the lineage of the cut that the job continued from
  CHECK(changed.until(16) == changed);
  CHECK(changed.continued(10, settings(2)).entries() ==
        std::vector<Lineage::Entry>{{0, settings(1)}, {10, settings(2)}});  // the job went back further
  CHECK(changed.continued(0, settings(2)) == initial.continued(0, settings(2)));
  CHECK(changed.continued(20, settings(1)).entries().size() == 3);  // the first settings again
}

TEST_CASE("Lineage: different lineages have different numbers", "[ps]") {
  const Lineage first = Lineage{}.continued(0, settings(1));
  CHECK(first.digest() == Lineage{}.continued(0, settings(1)).digest());
  CHECK(Lineage{}.digest() != 0);
  // the first 8 bytes of the SHA-256 of an empty text, e3b0c44298fc1c14...
  CHECK(Lineage{}.digest() == 0x141cfc9842c4b0e3U);
  CHECK(first.digest() != Lineage{}.continued(0, settings(2)).digest());
  CHECK(first.continued(15, settings(2)).digest() != first.continued(14, settings(2)).digest());
}

TEST_CASE("Lineage: reads back its text, and refuses any other text", "[ps]") {
  const Lineage lineage =
      Lineage{}.continued(0, settings(1)).continued(15, settings(0xab)).continued(1ULL << 40, settings(1));
  const std::string text = to_text(lineage);
  CHECK(text.starts_with("0 0101"));
  CHECK(text.find("\n15 abab") != std::string::npos);
  CHECK(parse_lineage(text) == lineage);
  CHECK(parse_lineage("") == Lineage{});
  for (const std::string& bad : std::vector<std::string>{
           text + "\n", text.substr(0, text.size() - 1), "1" + text, "\n", "0 \n", "0",
           "0 " + std::string(64, 'a') + "\n0 " + std::string(64, 'b') + "\n", "00 " + std::string(64, 'a') + "\n",
           "0 " + std::string(64, 'A') + "\n", "0 " + std::string(63, 'a') + "\n"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_lineage(bad));
  }
}

TEST_CASE("Lineage: the settings of a job are all lines that may change a value", "[ps]") {
  const Job job = story::job(2, 2, 9, 3);
  Job longer = job;
  longer.total_steps = 90;
  longer.cut_interval = 5;
  CHECK(hash_of(longer) == hash_of(job));
  for (const auto change :
       {+[](Job& other) { other.updater = "sgd learning_rate=0.25"; }, +[](Job& other) { other.data = "other files"; },
        +[](Job& other) { ++other.ranks; }, +[](Job& other) { other.wire_format = distrib::FloatFormat::bfloat16; },
        +[](Job& other) { other.wire_format = distrib::Int8Gradients{}; },
        +[](Job& other) { other.check_numerics = true; }}) {
    Job other = job;
    change(other);
    CHECK(hash_of(other) != hash_of(job));
  }
}

TEST_CASE("Lineage: the arithmetic of the workers is a setting, if it is described", "[ps]") {
  const Job job = story::job(2, 2, 9, 3);
  CHECK(settings_hash(job) == settings_hash(to_text(job)));
  Job described = job;
  described.arithmetic = "torch 2 threads 1";
  CHECK(to_text(described) == to_text(job));
  CHECK(distrib::job_hash(described) == distrib::job_hash(job));
  CHECK(settings_hash(described) != settings_hash(job));
  CHECK(settings_hash(described) == settings_hash(to_text(job) + "arithmetic torch 2 threads 1\n"));
  Job other = described;
  other.arithmetic = "torch 3 threads 1";
  CHECK(settings_hash(other) != settings_hash(described));
}
