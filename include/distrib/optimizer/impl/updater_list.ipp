// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/updater_list.hpp>

namespace distrib {
inline namespace v0 {

#ifndef DISTRIB_HEADER_ONLY
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
template class UpdaterModel<TorchAdam>;
template class UpdaterModel<TorchAdagrad>;
template class UpdaterModel<TorchRMSProp>;
}  // namespace detail
#endif

}  // namespace v0
}  // namespace distrib
