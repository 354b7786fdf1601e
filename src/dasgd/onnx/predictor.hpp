/**
 * @file predictor.hpp
 *
 * A session that computes a model's outputs as inference does.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_PREDICTOR_HPP
#define DASGD_ONNX_PREDICTOR_HPP

#include "runtime.hpp"

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
  Predictor(const Model& model, const Dims& pointDims, const size_t threads) :
      model(model), pointDims(pointDims), threads(threads) { }

  /**
   * @param statistics Mean and variance of every BatchNormalization.
   * @param count Points that there are.
   * @param outputDims Of the output; the first is the batch.
   */
  void Run(const ElemType* iterate,
           const std::vector<arma::mat>& statistics,
           const ElemType* points,
           ElemType* output,
           const size_t count,
           Dims outputDims);

 private:
  //! The model with inputs in place of what changes.
  pb::ModelProto WithInputs() const;

  const Model& model;
  Dims pointDims;
  size_t threads;
  //! Made when it is first needed.
  std::unique_ptr<Session> session;
};

} // namespace graph
} // namespace dasgd

#endif
