// SPDX-License-Identifier: Apache-2.0
// All rooms that need no optional component.
#pragma once

#include <distrib/checkpoint.hpp>
#include <distrib/cluster.hpp>
#include <distrib/core.hpp>
#include <distrib/data.hpp>
#include <distrib/example.hpp>
#include <distrib/net.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/placement.hpp>
#include <distrib/ps.hpp>
#include <distrib/record.hpp>
#include <distrib/rpc.hpp>
#include <distrib/sharding.hpp>
#include <distrib/summary.hpp>
#include <distrib/tensor.hpp>
#include <distrib/train.hpp>
#include <distrib/version.hpp>
