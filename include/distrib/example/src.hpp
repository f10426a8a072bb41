// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of example/, to be compiled in one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/example/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/example/detail/impl/row_parser.ipp>
#include <distrib/example/detail/impl/spec_keys.ipp>
#include <distrib/example/detail/impl/tensor_builder.ipp>
#include <distrib/example/detail/impl/walk.ipp>
#include <distrib/example/impl/example_builder.ipp>
#include <distrib/example/impl/feature_spec.ipp>
#include <distrib/example/impl/infer_schema.ipp>
#include <distrib/example/impl/parse_example.ipp>
#include <distrib/example/impl/parse_sequence_example.ipp>
#include <distrib/example/impl/sequence_example_view.ipp>
