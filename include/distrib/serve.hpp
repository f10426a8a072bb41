// SPDX-License-Identifier: Apache-2.0
// A copy of a model that is being trained, for processes that answer users. Includes no room of training, and is not
// part of ecosystem.hpp.
#pragma once

#include <distrib/export_log/error.hpp>
#include <distrib/export_log/follow_core.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/row_digest.hpp>
#include <distrib/serve/model_replica.hpp>
#include <distrib/serve/replica_store.hpp>
#include <distrib/serve/replica_table.hpp>
