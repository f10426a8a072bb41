// SPDX-License-Identifier: Apache-2.0
// Input pipelines.
#pragma once

#include <distrib/data/batch_reader.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/data/batched_stream.hpp>
#include <distrib/data/batching.hpp>
#include <distrib/data/cached_stream.hpp>
#include <distrib/data/data_state.hpp>
#include <distrib/data/elements.hpp>
#include <distrib/data/error.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/interleaved_order.hpp>
#include <distrib/data/order.hpp>
#include <distrib/data/order_steps.hpp>
#include <distrib/data/parallel_record_reader.hpp>
#include <distrib/data/permutation.hpp>
#include <distrib/data/pipeline.hpp>
#include <distrib/data/pipeline_steps.hpp>
#include <distrib/data/prefetched_stream.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/data/selected_order.hpp>
#include <distrib/data/shuffled_stream.hpp>
#include <distrib/data/split_stream.hpp>
#include <distrib/data/stream.hpp>
#include <distrib/data/stream_step.hpp>
#include <distrib/data/stream_steps.hpp>
#include <distrib/data/tfrecord_source.hpp>
#include <distrib/data/tfrecord_stream.hpp>
#include <distrib/data/tfrecords.hpp>
