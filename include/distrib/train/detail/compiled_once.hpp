// SPDX-License-Identifier: Apache-2.0
#pragma once

// With distrib::separate: what trainers call that depends on no model, other than the interfaces that they are behind.
// The one list of it: units that train declare what is below, and cmake/separate/trainer.cpp, which says so first,
// compiles it. What these call comes with them. Where examples/fashion_mnist/train.cpp is compiled for long again,
// look which `<void>` of its object file is large and calls others.

#ifdef DISTRIB_SEPARATE_COMPILATION

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/launched_task.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/job/cut_interval.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/ps/store/table_gradients.hpp>
#include <distrib/ps/store/wire_block.hpp>
#include <distrib/record/index_file.hpp>
#include <distrib/rpc/shared_secret.hpp>
#include <distrib/summary/event_writer.hpp>
#include <distrib/train/show_progress.hpp>
#include <distrib/train/write_result_json.hpp>
#include <distrib/train/write_summaries.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#ifndef DISTRIB_COMPILED_ONCE
#define DISTRIB_COMPILED_ONCE extern template
#endif

namespace distrib {
inline namespace v0 {

DISTRIB_COMPILED_ONCE ClusterSpec::ClusterSpec(
    std::initializer_list<std::pair<std::string_view, std::vector<std::string>>>);
DISTRIB_COMPILED_ONCE auto LaunchedTask::find(int, const char* const*, std::vector<std::string>&) -> LaunchedTask;
DISTRIB_COMPILED_ONCE IoPool::IoPool(std::size_t, std::function<void()>);
DISTRIB_COMPILED_ONCE Signals::Signals(const asio::io_context::executor_type&, std::function<void()>);
DISTRIB_COMPILED_ONCE auto SharedSecret::of_job() -> SharedSecret;

DISTRIB_COMPILED_ONCE auto find_files(std::span<const std::string>, Error&) -> std::vector<std::string>;
DISTRIB_COMPILED_ONCE auto open_index(const std::string&, const OpenIndexOptions&, Error&) -> RecordIndex;
DISTRIB_COMPILED_ONCE class BasicRecordFiles<Inflater>;
DISTRIB_COMPILED_ONCE class BasicRecordWriter<Deflater>;

DISTRIB_COMPILED_ONCE auto parse_job(std::string_view, Error&) -> Job;
DISTRIB_COMPILED_ONCE auto to_text(const Job&) -> std::string;
DISTRIB_COMPILED_ONCE auto find_updaters(const Job&, const UpdaterFinder&, Error&) -> JobUpdaters;
DISTRIB_COMPILED_ONCE auto check_table_updaters(const Job&, const JobUpdaters&) -> Error;
DISTRIB_COMPILED_ONCE auto cut_interval(const Job&, std::uint64_t, std::size_t) -> std::uint64_t;
DISTRIB_COMPILED_ONCE auto finished_checkpoint(const std::string&) -> std::string;
DISTRIB_COMPILED_ONCE auto wire_block(const ShardLayout&, const SharedBuffer&) -> SharedBuffer;
DISTRIB_COMPILED_ONCE ShardLayout::ShardLayout(const Job&, std::uint32_t);
DISTRIB_COMPILED_ONCE ContributionLayout::ContributionLayout(const ShardLayout&, const KeyLists&);
DISTRIB_COMPILED_ONCE BatchKeys::BatchKeys(const Job&, std::span<const ShardLayout>);
DISTRIB_COMPILED_ONCE void BatchKeys::find(std::span<const std::vector<std::uint64_t>>, const KeyLists&, bool);
DISTRIB_COMPILED_ONCE Server::Server(IoPool&, const ClusterSpec&, std::string_view, std::uint32_t, UpdaterFinder,
                                     ServerOptions);
DISTRIB_COMPILED_ONCE auto Server::join() -> int;
DISTRIB_COMPILED_ONCE auto Server::join(asio::io_context&) -> int;

DISTRIB_COMPILED_ONCE void EventWriter::open(std::string);
DISTRIB_COMPILED_ONCE void EventWriter::session_log(SessionStatus, std::int64_t, std::string_view, std::error_code&);
DISTRIB_COMPILED_ONCE void EventWriter::scalar(std::string_view, std::int64_t, float, std::optional<double>,
                                               std::error_code&);
DISTRIB_COMPILED_ONCE void ShowProgress::on_evaluated(const Evaluated&);
DISTRIB_COMPILED_ONCE auto WriteSummaries::open(std::error_code&) -> bool;
DISTRIB_COMPILED_ONCE void WriteSummaries::write_out(std::error_code, bool, bool);
DISTRIB_COMPILED_ONCE void write_result_json(const std::string&, const TrainingResult&, std::string_view,
                                             const std::vector<std::pair<std::string, double>>&);

}  // namespace v0
}  // namespace distrib

#undef DISTRIB_COMPILED_ONCE
#endif
