// SPDX-License-Identifier: Apache-2.0
// tf.train.Example and SequenceExample: columns, views, writers, TensorFlow's parse_example.
#pragma once

#include <distrib/example/batch.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/example/feature.hpp>
#include <distrib/example/feature_spec.hpp>
#include <distrib/example/infer_schema.hpp>
#include <distrib/example/padded.hpp>
#include <distrib/example/parse_example.hpp>
#include <distrib/example/parse_sequence_example.hpp>
#include <distrib/example/parsed_feature.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/example/sequence_example_view.hpp>
