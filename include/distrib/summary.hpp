// SPDX-License-Identifier: Apache-2.0
// TensorBoard event files.
#pragma once

#include <distrib/summary/error.hpp>
#include <distrib/summary/event_reader.hpp>
#include <distrib/summary/event_writer.hpp>
#include <distrib/summary/graph_event.hpp>
#include <distrib/summary/histogram.hpp>
#include <distrib/summary/image_event.hpp>
#include <distrib/summary/parse_event.hpp>
#include <distrib/summary/png.hpp>
#include <distrib/summary/run_events.hpp>
#include <distrib/summary/scalar_event.hpp>
#include <distrib/summary/tensor_event.hpp>
