// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of all functions that ecosystem.hpp declares and that are not templates. Include this in exactly one unit
// of a program that defines DISTRIB_SEPARATE_COMPILATION, or include each <distrib/ROOM/src.hpp> in a unit of its own.
// The library distrib::compiled does that for you.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/checkpoint/formats/src.hpp>
#include <distrib/checkpoint/src.hpp>
#include <distrib/cluster/src.hpp>
#include <distrib/core/src.hpp>
#include <distrib/data/order/src.hpp>
#include <distrib/data/src.hpp>
#include <distrib/example/src.hpp>
#include <distrib/export_log/src.hpp>
#include <distrib/net/src.hpp>
#include <distrib/optimizer/src.hpp>
#include <distrib/placement/src.hpp>
#include <distrib/ps/cut/src.hpp>
#include <distrib/ps/job/src.hpp>
#include <distrib/ps/protocol/src.hpp>
#include <distrib/ps/rows/src.hpp>
#include <distrib/ps/server/src.hpp>
#include <distrib/ps/store/src.hpp>
#include <distrib/ps/wire/src.hpp>
#include <distrib/ps/worker/src.hpp>
#include <distrib/record/src.hpp>
#include <distrib/rpc/src.hpp>
#include <distrib/sharding/src.hpp>
#include <distrib/stream_log/src.hpp>
#include <distrib/summary/src.hpp>
#include <distrib/tensor/src.hpp>
#include <distrib/train/hooks/src.hpp>
#include <distrib/train/job/src.hpp>
#include <distrib/train/src.hpp>
