/**
 * @file model.hpp
 *
 * A model file that has been read and checked: which of its initializers are
 * trained, and which values depend on them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_MODEL_MODEL_HPP
#define DASGD_ONNX_MODEL_MODEL_HPP

#include "proto.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dasgd {
namespace graph {

//! A tensor that the model is given for each batch.
struct Input
{
  std::string name;
  //! The model's type of floating-point numbers, or INT64 for whole numbers.
  std::int32_t type;
  //! The batch comes first; -1 where they are open.
  Dims dims;
  //! Names of open dimensions; equal ones have equal sizes.
  std::vector<std::string> symbols;
};

//! Which of a model's outputs is used, and for what.
struct OutputChoice
{
  //! Its name; if empty, the first that is not called "loss".
  std::string name;
  //! The output is what is minimized; if it has no name, "loss" or the only
  //! one.
  bool isLoss = false;
};

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
   * @param frozen Initializers that are not trained; '*' in a name stands for
   *     anything.
   * @param folder Where files of external data are; if empty, there may be
   *     none.
   */
  Model(const std::string& bytes,
        const std::int32_t type,
        const std::vector<std::string>& frozen,
        const OutputChoice& output = OutputChoice(),
        const std::string& folder = "");

  const pb::GraphProto& Graph() const { return proto.graph(); }
  const pb::ModelProto& Proto() const { return proto; }

  std::int32_t Type() const { return type; }
  //! The version of the standard operators that the file uses.
  std::int64_t Opset() const { return opset; }

  //! Those that the output needs, in the order of the file.
  const std::vector<graph::Input>& Inputs() const { return inputs; }
  //! The output that is used; there may be others in the file.
  const std::string& Output() const { return proto.graph().output(0).name(); }

  const std::vector<Parameter>& Parameters() const { return parameters; }
  const std::vector<Statistic>& Statistics() const { return statistics; }
  //! What was to be frozen, and is the name of no initializer.
  const std::vector<std::string>& Unmatched() const { return unmatched; }
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
  void ToInferenceForm();
  void SeparateStatistics();
  void ChooseOutput(const OutputChoice& choice);
  void Prune();
  void FindInputs();
  void Convert();
  void CastInputs();
  void FindParameters(const std::vector<std::string>& frozen);
  void FollowValues();

  //! With the floating-point numbers that the file has, for Write().
  pb::ModelProto original;
  pb::ModelProto proto;
  std::int32_t type;
  std::int64_t opset = 0;
  std::vector<graph::Input> inputs;
  std::vector<Parameter> parameters;
  std::vector<Statistic> statistics;
  std::vector<std::string> unmatched;
  std::set<std::string> active, varying;
  std::map<std::string, int> initializers;
};

} // namespace graph
} // namespace dasgd

#endif
