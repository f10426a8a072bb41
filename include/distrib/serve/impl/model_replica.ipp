// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/serve/model_replica.hpp>

#include <distrib/serve/detail/follow_log.hpp>

#include <algorithm>
#include <cassert>
#include <exception>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void ModelView::rows(std::string_view name, std::span<const std::uint64_t> keys, std::span<float> out,
                                  ErrorRef to) const {
  Error error;
  const ReplicaTable* const table = reader_.table(name);
  if (table == nullptr) {
    error = {has_position() ? export_errc::unknown_name : export_errc::not_ready, std::string{name}};
  } else {
    const TableInfo& info = table->settings().info;
    assert(out.size() == keys.size() * info.dim);
    const auto wrong =
        info.any_key() ? keys.end() : std::ranges::find_if(keys, [&](std::uint64_t key) { return key >= info.rows; });
    if (wrong != keys.end()) error = {export_errc::no_such_row, std::string{name} + ", key " + std::to_string(*wrong)};
    else table->rows(reader_.version(), keys, out.data());
  }
  to.set(std::move(error));
}

DISTRIB_DECL auto ModelView::variable(std::string_view name, ErrorRef to) const -> const ReplicaVariable* {
  const ReplicaVariable* const variable = reader_.variable(name);
  Error error;
  if (variable == nullptr)
    error = {has_position() ? export_errc::unknown_name : export_errc::not_ready, std::string{name}};
  to.set(std::move(error));
  return variable;
}

DISTRIB_DECL ModelReplica::ModelReplica(ExportSource source, ReplicaOptions options)
    : log_{std::move(source.directory), std::move(source.open_store)},
      options_{std::move(options)},
      store_{options_.memory_bytes} {}

DISTRIB_DECL auto ModelReplica::poll() -> bool {
  const std::lock_guard lock{polling_};
  const LogPosition before = core_.position();
  const std::uint64_t log = core_.log();
  follow();
  if (!ready_.load() && core_.position() != 0) warm_up();
  note_status();
  return core_.position() != before || core_.log() != log;
}

DISTRIB_DECL void ModelReplica::follow() {
  const LogPosition held = held_.load();
  core_.hold(held == not_held ? std::nullopt : std::optional{held});
  if (!store_.settle()) {
    ++delayed_;
    return;
  }
  const Error error = detail::follow_once(log_, core_, store_);
  const std::lock_guard lock{reporting_};
  status_.last_error = core_.last_error();
  // The store knows more: the path, and why it cannot be read.
  if (status_.last_error && error) status_.last_error = error;
}

DISTRIB_DECL void ModelReplica::warm_up() {
  try {
    if (options_.warm_up) options_.warm_up(view());
    ready_.store(true);
  } catch (const std::exception&) {
    ready_.store(false);  // with the next poll again
  }
}

DISTRIB_DECL void ModelReplica::note_status() {
  (void)store_.settle();  // frees what the version before needed, if no view has it
  const ModelView now = view();
  const std::lock_guard lock{reporting_};
  status_.ready = ready_.load();
  status_.log = core_.log();
  status_.position = core_.position();
  status_.newest = core_.newest();
  status_.step = now.step();
  status_.held = core_.held();
  status_.counts = core_.counts();
  status_.delayed = delayed_;
  status_.memory_bytes = store_.memory_bytes();
  if (now.has_position()) status_.tables = now.manifest().tables;
}

DISTRIB_DECL auto ModelReplica::status() const -> ReplicaStatus {
  const std::lock_guard lock{reporting_};
  ReplicaStatus status = status_;
  status.views = store_.readers();
  return status;
}

}  // namespace v0
}  // namespace distrib
