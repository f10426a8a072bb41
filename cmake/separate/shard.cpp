// SPDX-License-Identifier: Apache-2.0
// What depends on no model, compiled once: see ../DistribSeparate.cmake.
#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/server/detail/state_fetch.hpp>

namespace distrib {
inline namespace v0 {

namespace detail {

template class UpdaterModel<Sgd>;
template class UpdaterModel<Momentum>;
template class UpdaterModel<Adagrad>;
template class UpdaterModel<RMSProp>;
template class UpdaterModel<CenteredRMSProp>;
template class UpdaterModel<Adam>;
template class UpdaterModel<AMSGrad>;
template class UpdaterModel<LazyAdam>;
template class UpdaterModel<AdamW>;
template class UpdaterModel<Ftrl>;

template void StateFetch::operator()(ConnectToSibling);
template void StateFetch::operator()(AskSibling);

}  // namespace detail

template auto make_shard(const Job&, std::uint32_t, const ShardKind&, std::vector<Step>, const Cut*)
    -> std::unique_ptr<AnyShard>;
template auto initial_cut(const Job&, const ShardLayout&, const JobUpdaters&) -> Cut;

}  // namespace v0
}  // namespace distrib
