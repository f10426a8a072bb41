// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/perform_export.hpp>

#include <distrib/export_log/directory_log.hpp>

#include "ps/exported_store.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <memory>
#include <string>
#include <utility>

using namespace distrib::export_action;
using distrib::ExportAction;
using distrib::ExportWork;

namespace {

struct PerformBench {
  support::TempDirectory directory;
  distrib::DirectoryLog log{directory / "log"};
  distrib::ExportPartWriter writer{exported_store::job(1), 0};

  auto perform(ExportAction action) {
    ExportWork work;
    work.what = std::move(action);
    perform_export(log, writer, work);
    return work;
  }
};

}  // namespace

TEST_CASE("perform_export: a log is begun, written and read", "[ps]") {
  PerformBench bench;
  ExportWork empty = bench.perform(ReadLog{});
  CHECK_FALSE(empty.failure);
  CHECK(empty.view.version.empty());
  CHECK_FALSE(empty.view.manifest);

  auto part = std::make_shared<distrib::TakenPart>();
  part->step = part->label = 4;
  part->dense = std::make_shared<distrib::AlignedBuffer>(distrib::ShardLayout{exported_store::job(1), 0}.block_bytes());
  part->tables.resize(3);
  part->state = {1, 2};
  ExportWork written;
  written.what = part;
  perform_export(bench.log, bench.writer, written);
  CHECK_FALSE(written.failure);
  CHECK(written.part.is_full());
  CHECK(written.part.state == part->state);
  CHECK(written.tables.size() == 3);
  distrib::Error error;
  CHECK(bench.log.get(written.part.name, written.part.bytes, error).size() == written.part.bytes);

  ExportWork base;
  base.what = ExportWork::Base{part, 3};
  perform_export(bench.log, bench.writer, base);
  CHECK_FALSE(base.failure);
  CHECK(base.part.is_full());
  CHECK(base.part.bytes == written.part.bytes);
  CHECK(base.part.name.find("-base-e3-") != std::string::npos);
  CHECK(bench.log.get(base.part.name, base.part.bytes, error) == bench.log.get(written.part.name, 1 << 20, error));

  distrib::LogVote vote;
  vote.label = vote.step = 4;
  vote.epoch = 1;
  vote.part = written.part;
  CHECK_FALSE(bench.perform(Put{distrib::vote_name(4, 0, 1), to_text(vote)}).failure);
  const ExportWork votes = bench.perform(ReadVotes{{distrib::vote_name(4, 0, 1), distrib::vote_name(4, 1, 1)}});
  REQUIRE(votes.votes.size() == 2);
  CHECK(votes.votes[0] == vote);
  CHECK_FALSE(votes.votes[1]);

  distrib::LogManifest manifest;
  manifest.log = 7;
  manifest.step = 4;
  manifest.parts = {written.part};
  const std::string text = to_text(manifest);
  distrib::LogHead head{7, 1, distrib::manifest_name(1, text), {1}};
  CHECK_FALSE(bench.perform(Put{head.manifest, text}).failure);
  CHECK(bench.perform(SwapHead{"", head}).is_swapped);
  CHECK_FALSE(bench.perform(SwapHead{"", head}).is_swapped);
  const ExportWork read = bench.perform(ReadLog{});
  CHECK(read.view.head == head);
  CHECK(read.view.manifest == manifest);
  CHECK_FALSE(bench.perform(Remove{distrib::vote_name(4, 0, 1)}).failure);
  CHECK_FALSE(bench.perform(ReadVotes{{distrib::vote_name(4, 0, 1)}}).votes[0]);
  ExportWork retire;
  retire.what = ExportWork::Retire{};
  perform_export(bench.log, bench.writer, retire);
  CHECK_FALSE(retire.failure);

  std::ofstream{bench.directory / "log" / head.manifest} << "other bytes";
  CHECK(bench.perform(ReadLog{}).failure.code == distrib::export_errc::wrong_hash);
}
