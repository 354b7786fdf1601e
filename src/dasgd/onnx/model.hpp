/**
 * @file model.hpp
 *
 * A model file that has been read and checked: which of its initializers are
 * trained, and which values depend on them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_MODEL_HPP
#define DASGD_ONNX_MODEL_HPP

#include "proto.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dasgd {
namespace graph {

//! An initializer that is trained, and its place in the iterate.
struct Parameter
{
  std::string name;
  Dims dims;
  size_t offset = 0;
  size_t elements = 0;
};

//! The running mean and variance of one BatchNormalization node.
struct Statistic
{
  //! The first output of the node.
  std::string node;
  //! The initializers that hold them.
  std::string mean, variance;
  size_t elements = 0;
  //! The share of the old value that stays at every step.
  double momentum = 0.9;
};

/**
 * A model as inference uses it, with floating-point numbers of one type
 * throughout.  Everything in the file is checked that later steps rely on.
 */
class Model
{
 public:
  /**
   * @param bytes The content of a file.
   * @param type The type to compute with: pb::TensorProto::FLOAT or DOUBLE.
   * @param frozen Initializers that are not trained; a name that ends in '*'
   *     stands for all that begin so.
   */
  Model(const std::string& bytes,
        const std::int32_t type,
        const std::vector<std::string>& frozen);

  const pb::GraphProto& Graph() const { return proto.graph(); }
  const pb::ModelProto& Proto() const { return proto; }

  std::int32_t Type() const { return type; }
  //! The version of the standard operators that the file uses.
  std::int64_t Opset() const { return opset; }

  //! The input for points, and its dimensions; -1 where they are open.
  const std::string& Input() const { return input; }
  const Dims& InputDims() const { return inputDims; }
  const std::string& Output() const { return proto.graph().output(0).name(); }

  const std::vector<Parameter>& Parameters() const { return parameters; }
  const std::vector<Statistic>& Statistics() const { return statistics; }
  //! Numbers in all parameters.
  size_t Size() const;

  //! Does a value depend on what is trained?
  bool Active(const std::string& name) const { return active.count(name) > 0; }
  //! Does a value depend on what is trained, or on the points?
  bool Varies(const std::string& name) const { return varying.count(name) > 0; }

  //! An initializer; null if there is none of that name.
  const pb::TensorProto* Initializer(const std::string& name) const;

  /**
   * The model with other values of some initializers, as bytes of a file.
   *
   * @param values For each name all values of that initializer.
   */
  std::string Write(
      const std::map<std::string, std::vector<double>>& values) const;

 private:
  void CheckGraph();
  void FindInput();
  void ToInferenceForm();
  void SeparateStatistics();
  void Prune();
  void Convert();
  void FindParameters(const std::vector<std::string>& frozen);
  void FollowValues();

  //! With the floating-point numbers that the file has, for Write().
  pb::ModelProto original;
  pb::ModelProto proto;
  std::int32_t type;
  std::int64_t opset = 0;
  std::string input;
  Dims inputDims;
  std::vector<Parameter> parameters;
  std::vector<Statistic> statistics;
  std::set<std::string> active, varying;
  std::map<std::string, int> initializers;
};

} // namespace graph
} // namespace dasgd

#endif
