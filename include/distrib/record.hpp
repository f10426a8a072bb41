// SPDX-License-Identifier: Apache-2.0
// TFRecord files.
#pragma once

#include <distrib/record/any_object_store.hpp>
#include <distrib/record/any_ranged_files.hpp>
#include <distrib/record/byte_sink.hpp>
#include <distrib/record/byte_source.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/damage.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/object_store.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/record/record.hpp>
#include <distrib/record/record_index.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/remote_files.hpp>
#include <distrib/record/sharded_sink_writer.hpp>
#include <distrib/record/sharded_writer.hpp>
#include <distrib/record/sink_record_writer.hpp>
