// SPDX-License-Identifier: Apache-2.0
// What depends on no model, compiled once: see ../DistribSeparate.cmake.
#include <distrib/ps/cut/cut_store.hpp>
#include <distrib/train/detail/checkpoint_store_members.hpp>

namespace distrib {
inline namespace v0 {

template class CutStore<PosixFiles>;

template CheckpointStore::CheckpointStore(const SaveCheckpoint&, const Job&, const JobUpdaters&);
template auto CheckpointStore::restore() const -> RestoredCuts;
template auto CheckpointStore::save(Step, std::span<const Cut>) const -> std::string;

}  // namespace v0
}  // namespace distrib
