// SPDX-License-Identifier: Apache-2.0
// The log that says which records of a stream make which batch. Not part of ecosystem.hpp.
#pragma once

#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/seen_source.hpp>
#include <distrib/stream_log/stream_file.hpp>
#include <distrib/stream_log/stream_item.hpp>
#include <distrib/stream_log/stream_log.hpp>
#include <distrib/stream_log/stream_log_files.hpp>
#include <distrib/stream_log/stream_shard_core.hpp>
#include <distrib/stream_log/stream_worker_core.hpp>
