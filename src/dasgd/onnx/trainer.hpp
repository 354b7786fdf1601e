/**
 * @file trainer.hpp
 *
 * Sessions that compute losses and gradients, one for each size of batch.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_TRAINER_HPP
#define DASGD_ONNX_TRAINER_HPP

#include "runtime.hpp"
#include "training_graph.hpp"

#include <cstdint>
#include <list>
#include <vector>

namespace dasgd {
namespace graph {

//! Dimensions of a batch.
Dims BatchDims(const size_t batch, const Dims& pointDims);

//! The same for each input.
std::vector<Dims> BatchDims(const size_t batch,
                            const std::vector<Dims>& pointDims);

//! Let an input of the model be in memory of the caller.
template<typename ElemType>
void BindModelInput(Session& session,
                    const Input& input,
                    const void* memory,
                    const Dims& dims);

//! The loss of batches of one size, and its gradient if so wished.
template<typename ElemType>
class Trainer
{
 public:
  //! @param pointDims Of each input, without the batch.
  Trainer(const Model& model,
          const std::vector<Dims>& pointDims,
          const Objective& objective,
          const size_t batch,
          const bool withGradients,
          const size_t threads,
          const std::uint64_t seed);

  size_t Batch() const { return batch; }
  bool WithGradients() const { return !graph.gradients.empty(); }

  /**
   * Compute the sum of the losses.
   *
   * @param inputs For each input of the model, values of its type.
   * @param targets Labels or responses; null if the loss has none.
   * @param gradient Where it is written to; null if it is not wanted.
   */
  ElemType Run(const ElemType* iterate,
               const std::vector<const void*>& inputs,
               const void* targets,
               ElemType* gradient);

  //! Mean and variance of the last batch, for each statistic of the model.
  const std::vector<std::vector<ElemType>>& Means() const { return means; }
  const std::vector<std::vector<ElemType>>& Variances() const
  { return variances; }

 private:
  const Model& model;
  size_t batch;
  bool labelled;
  std::vector<Dims> inputDims;
  TrainingGraph graph;
  Session session;
  ElemType loss = 0;
  std::vector<std::vector<ElemType>> means, variances;
};

//! The few trainers that are in use: that of full batches, of the last one of
//! an epoch, and of evaluations.
template<typename ElemType>
class Trainers
{
 public:
  Trainers(const Model& model,
           const std::vector<Dims>& pointDims,
           const Objective& objective,
           const size_t threads,
           const std::uint64_t seed) :
      model(model), pointDims(pointDims), objective(objective),
      threads(threads), seed(seed) { }

  //! What targets were found to be; before the first batch.
  void SetObjective(const Objective& given) { objective = given; }

  //! The one for a size of batch, made if need be.
  Trainer<ElemType>& For(const size_t batch, const bool withGradients);

 private:
  //! More sizes than a training has; memory is limited.
  static constexpr size_t Most = 6;

  const Model& model;
  std::vector<Dims> pointDims;
  Objective objective;
  size_t threads;
  std::uint64_t seed;
  //! The one that was used last comes first.
  std::list<Trainer<ElemType>> trainers;
};

} // namespace graph
} // namespace dasgd

#endif
