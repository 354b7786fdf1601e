/**
 * @file unfold.hpp
 *
 * The nodes of a model for one size of batch, with functions written out by
 * operators that have gradients.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_UNFOLD_HPP
#define DASGD_ONNX_UNFOLD_HPP

#include "model/model.hpp"
#include "operators/operators.hpp"

#include <set>
#include <string>
#include <vector>

namespace dasgd {
namespace graph {

struct Unfolded
{
  //! Without those that depend neither on points nor on parameters.
  std::vector<Step> steps;
  //! Of these, too.
  Shapes shapes;
  //! Values that depend on what is trained, and have a gradient.
  std::set<std::string> active;
};

/**
 * @param shapes Of the model for the size of batch.
 * @param problems Gets what is wrong with functions; null to throw it.
 */
Unfolded Unfold(const Model& model,
                const Shapes& shapes,
                std::vector<std::string>* problems = nullptr);

/**
 * Add dimensions and types of a node's outputs, from those of its inputs.  Only
 * for operators that functions are written by, in the form they have there.
 */
void Infer(const pb::NodeProto& node, Shapes& shapes);

} // namespace graph
} // namespace dasgd

#endif
