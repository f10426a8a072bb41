// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of serve/, for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/serve/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/serve/impl/model_replica.ipp>
#include <distrib/serve/impl/replica_store.ipp>
#include <distrib/serve/impl/replica_table.ipp>
