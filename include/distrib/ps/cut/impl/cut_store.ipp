// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/cut_store.hpp>

namespace distrib {
inline namespace v0 {

#ifndef DISTRIB_HEADER_ONLY
template class CutStore<PosixFiles>;
#endif

}  // namespace v0
}  // namespace distrib
