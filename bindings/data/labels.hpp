/**
 * @file labels.hpp
 *
 * Labels that fit the points, on all ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_LABELS_HPP
#define DASGD_BINDINGS_DATA_LABELS_HPP

#include <armadillo>

#include <set>
#include <string>

namespace dasgd {
namespace cli {

//! Throw unless there are as many labels as points.
void CheckCount(const std::string& pointsName,
                const size_t points,
                const std::string& labelsName,
                const size_t labels);

/**
 * Throw unless all labels are below the number of classes.
 *
 * @param name The parameter of the labels, for messages.
 * @param remedy What to do.
 */
void CheckRange(const arma::Row<size_t>& labels,
                const size_t classes,
                const std::string& name,
                const std::string& remedy);

//! Throw if a value is infinite or not a number.
void CheckFinite(const arma::mat& data, const std::string& name);

//! The labels that occur on any rank, in order.  Collective.
std::set<size_t> AllLabels(const arma::Row<size_t>& labels);

//! The same; throw if there are fewer than two.  Collective.
std::set<size_t> RequireClasses(const arma::Row<size_t>& labels,
                                const std::string& name);

} // namespace cli
} // namespace dasgd

#endif
