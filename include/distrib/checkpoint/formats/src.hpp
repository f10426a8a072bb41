// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of checkpoint/formats/, to be compiled in one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/checkpoint/formats/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION"
#endif

#include <distrib/checkpoint/formats/impl/file_layout.ipp>
#include <distrib/checkpoint/formats/impl/safetensors_header.ipp>
#include <distrib/checkpoint/formats/impl/safetensors_index.ipp>
#include <distrib/checkpoint/formats/impl/safetensors_writer.ipp>
#include <distrib/checkpoint/formats/impl/tensor_file.ipp>
#include <distrib/checkpoint/formats/impl/torch_pickle.ipp>
#include <distrib/checkpoint/formats/impl/torch_writer.ipp>
#include <distrib/checkpoint/formats/impl/zip_directory.ipp>
