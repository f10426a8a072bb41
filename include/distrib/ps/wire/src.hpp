// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of ps/wire/, compiled once. For one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/ps/wire/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/ps/wire/impl/ask_shard.ipp>
#include <distrib/ps/wire/impl/messages.ipp>
#include <distrib/ps/wire/impl/shard_status.ipp>
#include <distrib/ps/wire/impl/status_object.ipp>
