// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of summary/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/summary/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/summary/detail/impl/run_collector.ipp>
#include <distrib/summary/detail/impl/tensor_shape.ipp>
#include <distrib/summary/impl/event.ipp>
#include <distrib/summary/impl/event_reader.ipp>
#include <distrib/summary/impl/event_writer.ipp>
#include <distrib/summary/impl/graph_event.ipp>
#include <distrib/summary/impl/histogram.ipp>
#include <distrib/summary/impl/image_event.ipp>
#include <distrib/summary/impl/parse_event.ipp>
#include <distrib/summary/impl/png.ipp>
#include <distrib/summary/impl/tensor_event.ipp>
