// SPDX-License-Identifier: Apache-2.0
// tf.train.Example as columns.
#pragma once

#include <distrib/example/batch.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/example/feature.hpp>
#include <distrib/example/schema.hpp>
