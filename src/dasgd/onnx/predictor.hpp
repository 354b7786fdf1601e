/**
 * @file predictor.hpp
 *
 * A session that computes a model's outputs as inference does.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_PREDICTOR_HPP
#define DASGD_ONNX_PREDICTOR_HPP

#include "trainer.hpp"

#include <armadillo>

#include <memory>
#include <vector>

namespace dasgd {
namespace graph {

//! Parameters and statistics are inputs, so that one session serves all values
//! of them, and all sizes of batches.
template<typename ElemType>
class Predictor
{
 public:
  //! @param pointDims Of each input, without the batch.
  Predictor(const Model& model,
            const std::vector<Dims>& pointDims,
            const size_t threads) :
      model(model), pointDims(pointDims), threads(threads) { }

  //! Weights for batches to come.
  //! @param statistics Mean and variance of every BatchNormalization.
  void Load(const ElemType* iterate, const std::vector<arma::mat>& statistics);

  /**
   * Compute the outputs of one batch.
   *
   * @param inputs For each input of the model, values of its type.
   * @param batch Points that there are.
   * @param outputDims Of the output.
   */
  void Run(const std::vector<const void*>& inputs,
           const size_t batch,
           ElemType* output,
           const Dims& outputDims);

 private:
  //! The model with inputs in place of what changes.
  pb::ModelProto WithInputs() const;

  const Model& model;
  std::vector<Dims> pointDims;
  size_t threads;
  //! Statistics of the type that is computed with.
  std::vector<std::vector<ElemType>> converted;
  //! Made when it is first needed.
  std::unique_ptr<Session> session;
};

} // namespace graph
} // namespace dasgd

#endif
