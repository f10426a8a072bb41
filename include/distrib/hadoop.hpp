// SPDX-License-Identifier: Apache-2.0
// MapReduce tasks over Hadoop Pipes and Streaming. Not part of ecosystem.hpp: a task is another program than a trainer.
#pragma once

#include <distrib/hadoop/error.hpp>
