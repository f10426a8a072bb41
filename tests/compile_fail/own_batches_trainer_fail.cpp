// error: with_data: only a session can use OwnBatches, because its loop brings the batches
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#ifdef DISTRIB_COMPILE_FAIL
auto made() { return distrib::train(LeastModel{}).with_data(distrib::OwnBatches{}).build(); }
#else
auto made() { return distrib::session(LeastModel{}).with_data(distrib::OwnBatches{}).open(); }
#endif
