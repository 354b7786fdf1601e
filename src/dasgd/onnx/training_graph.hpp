/**
 * @file training_graph.hpp
 *
 * A model, a loss and the gradient of the loss as one graph of standard
 * operators, for one size of batch.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_TRAINING_GRAPH_HPP
#define DASGD_ONNX_TRAINING_GRAPH_HPP

#include "loss.hpp"
#include "model/model.hpp"
#include "model/shapes.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dasgd {
namespace graph {

//! Inputs are the model's, all parameters, and labels or responses.
struct TrainingGraph
{
  pb::ModelProto proto;
  //! The input for labels (whole numbers) or responses, and its dimensions;
  //! empty if the model computes the loss itself.
  std::string target;
  Dims targetDims;
  //! The output that is the sum of the losses of all points.
  std::string loss;
  //! Outputs that are gradients, in the order of the model's parameters; empty
  //! if they were not asked for.
  std::vector<std::string> gradients;
  //! Outputs that are mean and variance of the batch, in the order of the
  //! model's statistics; empty if gradients were not asked for.
  std::vector<std::string> means, variances;
};

/**
 * Differentiate a model.
 *
 * @param shapes Of the model for the size of batch.
 * @param withGradients Otherwise only the loss is computed.
 * @param seed For the masks of Dropout.
 * @param problems Gets what is wrong with nodes, as the graph then is; null to
 *     throw the first.
 */
TrainingGraph MakeTrainingGraph(const Model& model,
                                const Shapes& shapes,
                                const Objective& objective,
                                const bool withGradients,
                                const std::uint64_t seed,
                                std::vector<std::string>* problems = nullptr);

//! What is wrong with nodes, as far as it is known without dimensions: those
//! that need a gradient and have none.
std::vector<std::string> OperatorProblems(const Model& model);

//! Throws if there are such.
void CheckOperators(const Model& model);

//! Numbers that the output of a model has for each point.
size_t OutputsPerPoint(const Model& model,
                       const Shapes& shapes,
                       const size_t batch);

} // namespace graph
} // namespace dasgd

#endif
