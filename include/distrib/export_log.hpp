// SPDX-License-Identifier: Apache-2.0
// The log in which a job exports its model, position by position. Not part of ecosystem.hpp.
#pragma once

#include <distrib/export_log/directory_log.hpp>
#include <distrib/export_log/error.hpp>
#include <distrib/export_log/export_core.hpp>
#include <distrib/export_log/export_log.hpp>
#include <distrib/export_log/follow_core.hpp>
#include <distrib/export_log/head_store.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/export_log/object_log.hpp>
#include <distrib/export_log/retire_log.hpp>
#include <distrib/export_log/row_digest.hpp>
