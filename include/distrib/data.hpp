// SPDX-License-Identifier: Apache-2.0
// Input pipelines.
#pragma once

#include <distrib/data/batch_reader.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/order/batching.hpp>
#include <distrib/data/order/data_state.hpp>
#include <distrib/data/order/dataset_steps.hpp>
#include <distrib/data/order/elements.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/interleaved_order.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/order/order_steps.hpp>
#include <distrib/data/order/permutation.hpp>
#include <distrib/data/order/selected_order.hpp>
#include <distrib/data/parallel_record_reader.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/data/split_stream.hpp>
#include <distrib/data/stream/batched_stream.hpp>
#include <distrib/data/stream/cached_stream.hpp>
#include <distrib/data/stream/pipeline.hpp>
#include <distrib/data/stream/prefetched_stream.hpp>
#include <distrib/data/stream/shuffled_stream.hpp>
#include <distrib/data/stream/stateless_step.hpp>
#include <distrib/data/stream/stream.hpp>
#include <distrib/data/stream/stream_steps.hpp>
#include <distrib/data/tfrecord_source.hpp>
#include <distrib/data/tfrecord_stream.hpp>
#include <distrib/data/tfrecords.hpp>
