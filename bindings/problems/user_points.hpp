/**
 * @file user_points.hpp
 *
 * Points with labels from a user's files.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PROBLEMS_USER_POINTS_HPP
#define DASGD_BINDINGS_PROBLEMS_USER_POINTS_HPP

#include "task.hpp"

#include <string>

namespace dasgd {
namespace study {

/**
 * Read points, and their labels: from a file of their own, or from the last
 * column of the points.
 *
 * @param points,labels Values of the options; labels may be empty.
 * @param pointsName,labelsName The options, for messages.
 * @param shape Becomes that of a point, as far as the file tells.
 */
LabelledSet ReadUserPoints(const std::string& points,
                           const std::string& labels,
                           const std::string& pointsName,
                           const std::string& labelsName,
                           std::string& shape);

} // namespace study
} // namespace dasgd

#endif
