// SPDX-License-Identifier: Apache-2.0
// Input pipelines.
#pragma once

#include <distrib/data/batch_source.hpp>
#include <distrib/data/error.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/permutation.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/data/tfrecord_source.hpp>
#include <distrib/data/tfrecords.hpp>
