/**
 * @file runtime.hpp
 *
 * ONNX Runtime: sessions that read from and write to memory of the caller.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_RUNTIME_HPP
#define DASGD_ONNX_RUNTIME_HPP

#include "model/model.hpp"
#include "model/shapes.hpp"

#include <onnxruntime_cxx_api.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dasgd {
namespace graph {

/**
 * A graph that can be run again and again.  Inputs and outputs are bound to
 * memory, which is looked up anew only where it has moved.
 */
class Session
{
 public:
  /**
   * @param type Of floating-point numbers.
   * @param threads For one operator.
   * @param optimize Let the runtime change the graph; not where all values are
   *     asked for.
   */
  Session(const pb::ModelProto& proto,
          const std::int32_t type,
          const size_t threads,
          const bool optimize = true);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  //! Let an input or output be in memory of the caller.
  template<typename ElemType>
  void BindInput(const std::string& name,
                 const ElemType* memory,
                 const Dims& dims)
  { Bind(name, const_cast<ElemType*>(memory), dims, true); }

  template<typename ElemType>
  void BindOutput(const std::string& name, ElemType* memory, const Dims& dims)
  { Bind(name, memory, dims, false); }

  void Run();

  /**
   * Run once and return all outputs.
   *
   * @param given Names of the inputs.
   * @param values One for each of them.
   * @param names Of the outputs.
   */
  std::vector<Ort::Value> Outputs(const std::vector<const char*>& given,
                                  const std::vector<Ort::Value>& values,
                                  const std::vector<std::string>& names);

 private:
  template<typename ElemType>
  void Bind(const std::string& name,
            ElemType* memory,
            const Dims& dims,
            const bool input);

  Ort::Session session{ nullptr };
  Ort::IoBinding binding{ nullptr };
  std::map<std::string, std::pair<void*, Dims>> places;
};

/**
 * Dimensions and constants of a model, found by running it on zeros.
 *
 * @param dims Of each input, for one size of batch.
 */
Shapes FindShapes(const Model& model, const std::vector<Dims>& dims);

} // namespace graph
} // namespace dasgd

#endif
