// SPDX-License-Identifier: Apache-2.0
// MapReduce tasks over Hadoop Pipes and Streaming. Not part of ecosystem.hpp, because such a task is not a training
// program.
#pragma once

#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/file_split.hpp>
#include <distrib/hadoop/job_conf.hpp>
#include <distrib/hadoop/raw_bytes.hpp>
#include <distrib/hadoop/run_streaming.hpp>
#include <distrib/hadoop/run_task.hpp>
#include <distrib/hadoop/task_context.hpp>
#include <distrib/hadoop/task_files.hpp>
#include <distrib/hadoop/task_roles.hpp>
#include <distrib/hadoop/tfrecord_input.hpp>
#include <distrib/hadoop/tfrecord_output.hpp>
#include <distrib/hadoop/typed_bytes.hpp>
#include <distrib/hadoop/writable.hpp>
