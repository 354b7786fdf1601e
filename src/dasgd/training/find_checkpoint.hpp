/**
 * @file find_checkpoint.hpp
 *
 * A checkpoint that a training can resume from, if there is one.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_FIND_CHECKPOINT_HPP
#define DASGD_TRAINING_FIND_CHECKPOINT_HPP

#include "../checkpoint/checkpoint_file.hpp"
#include "common_settings.hpp"

namespace dasgd {

/**
 * What there is to resume from, in rank 0's file; nothing if there is none.
 * Throws if it does not fit.
 *
 * @param about This training, as its own checkpoints describe it.
 */
std::vector<std::uint8_t> FindCheckpoint(const CommonSettings& settings,
                                         const Checkpoint& about);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "find_checkpoint_impl.hpp"
#endif

#endif
