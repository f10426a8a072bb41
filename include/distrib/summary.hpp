// SPDX-License-Identifier: Apache-2.0
// TensorBoard event files. Not here, as the hooks write curves alone: summary/histogram.hpp, summary/tensor_event.hpp
// (tensors and texts), summary/image_event.hpp, summary/png.hpp and summary/graph_event.hpp.
#pragma once

#include <distrib/summary/error.hpp>
#include <distrib/summary/event.hpp>
#include <distrib/summary/event_reader.hpp>
#include <distrib/summary/event_writer.hpp>
