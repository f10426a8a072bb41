// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of ps/cut/, compiled once. For one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/ps/cut/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/ps/cut/detail/impl/cut_files.ipp>
#include <distrib/ps/cut/detail/impl/rank_files.ipp>
#include <distrib/ps/cut/impl/copy_checkpoint.ipp>
#include <distrib/ps/cut/impl/cut_object.ipp>
#include <distrib/ps/cut/impl/cut_object_names.ipp>
#include <distrib/ps/cut/impl/cut_pieces.ipp>
#include <distrib/ps/cut/impl/cut_store.ipp>
#include <distrib/ps/cut/impl/cut_tensors.ipp>
#include <distrib/ps/cut/impl/finished_job.ipp>
#include <distrib/ps/cut/impl/initial_checkpoint.ipp>
#include <distrib/ps/cut/impl/initial_cut.ipp>
#include <distrib/ps/cut/impl/object_access.ipp>
#include <distrib/ps/cut/impl/object_checkpoints.ipp>
#include <distrib/ps/cut/impl/object_cuts.ipp>
#include <distrib/ps/cut/impl/object_cuts_core.ipp>
#include <distrib/ps/cut/impl/table_tensors.ipp>
