// SPDX-License-Identifier: Apache-2.0
// TensorFlow checkpoints, and files of tensors of other frameworks.
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/formats/named_tensor.hpp>
#include <distrib/checkpoint/formats/safetensors_header.hpp>
#include <distrib/checkpoint/formats/safetensors_index.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/merge_parts.hpp>
#include <distrib/checkpoint/object_names.hpp>
#include <distrib/checkpoint/part_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/checkpoint/ranged_bytes.hpp>
#include <distrib/checkpoint/retention.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
