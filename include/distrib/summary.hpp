// SPDX-License-Identifier: Apache-2.0
// TensorBoard event files.
#pragma once

#include <distrib/summary/error.hpp>
#include <distrib/summary/event.hpp>
#include <distrib/summary/event_reader.hpp>
#include <distrib/summary/event_writer.hpp>
