// SPDX-License-Identifier: Apache-2.0
// TFRecord files. Not here, as no job needs it: NVIDIA DALI's index, record/dali_index.hpp.
#pragma once

#include <distrib/record/compression.hpp>
#include <distrib/record/damage.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/gzip_members.hpp>
#include <distrib/record/index_file.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record_index.hpp>
#include <distrib/record/record_iterator.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/resync.hpp>
#include <distrib/record/sharded_writer.hpp>
#include <distrib/record/split_reader.hpp>
#include <distrib/record/splits.hpp>
#include <distrib/record/zlib.hpp>
