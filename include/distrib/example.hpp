// SPDX-License-Identifier: Apache-2.0
// tf.train.Example and SequenceExample: columns, views, writers. Not here, as no job of ours uses them: TensorFlow's
// tensors of them, example/parse_example.hpp, example/parse_sequence_example.hpp and example/padded.hpp; and what Examples
// hold, example/infer_schema.hpp.
#pragma once

#include <distrib/example/batch.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/example/feature.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/example/sequence_example_view.hpp>
