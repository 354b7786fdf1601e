/**
 * @file training_tags.hpp
 *
 * What a checkpoint is tied to: options, data and the model to start from.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_TRAINING_TAGS_HPP
#define DASGD_BINDINGS_TRAINING_TRAINING_TAGS_HPP

#include <armadillo>

#include <string>
#include <utility>
#include <vector>

namespace mlpack { namespace util { class Params; } }

namespace dasgd {
namespace cli {

//! Names with values.
using Tags = std::vector<std::pair<std::string, std::string>>;

void Append(Tags& tags, const Tags& more);

/**
 * The options that a checkpoint is tied to: all but those that say how long to
 * train, on how many ranks, and what to write.
 *
 * @param data Checksums of the data, or of whatever else is not an option.
 */
Tags OptionTags(mlpack::util::Params& params, const Tags& data);

//! Checksums of points and labels, if there is a checkpoint file; with shards
//! they would depend on the number of ranks, so there are none.
Tags DataTags(mlpack::util::Params& params,
              const arma::mat& points,
              const arma::Row<size_t>& labels);

//! The same for any memory.
Tags DataTag(mlpack::util::Params& params,
             const std::string& what,
             const void* memory,
             const size_t bytes);

//! The checksum of the model to start from.
Tags ModelTag(const arma::mat& parameters);
Tags ModelTag(const arma::fmat& parameters);

} // namespace cli
} // namespace dasgd

#endif
