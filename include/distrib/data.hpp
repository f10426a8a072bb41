// SPDX-License-Identifier: Apache-2.0
// Input pipelines.
#pragma once

#include <distrib/data/batch_reader.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/data/follow_files.hpp>
#include <distrib/data/followed_source.hpp>
#include <distrib/data/order/data_state.hpp>
#include <distrib/data/order/elements.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/remainder.hpp>
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/data/stream/pipeline.hpp>
#include <distrib/data/stream/stateless_step.hpp>
#include <distrib/data/stream/stream.hpp>
#include <distrib/data/tfrecords.hpp>
