/**
 * @file check.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/check.hpp"

#include "dasgd/onnx/model/external_data.hpp"
#include "dasgd/onnx/nodes.hpp"
#include "dasgd/onnx/runtime.hpp"
#include "dasgd/onnx/training_graph.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace dasgd {

namespace {

//! Points of a dimension that a model leaves open, and no option gives.
constexpr std::int64_t AssumedSize = 8;

//! Dimensions of all inputs for a batch of two points; remarks on those that
//! are assumed.
std::vector<graph::Dims> AssumedDims(const graph::Model& model,
                                     const size_t open,
                                     std::vector<std::string>& remarks)
{
  std::vector<graph::Dims> all;
  for (const graph::Input& input : model.Inputs())
  {
    graph::Dims dims = input.dims;
    dims[0] = 2;
    for (size_t i = 1; i < dims.size(); ++i)
    {
      if (dims[i] >= 0)
        continue;
      dims[i] = open > 0 ? std::int64_t(open) : AssumedSize;
      const std::string& name = input.symbols[i];
      remarks.push_back("the input '" + input.name + "' leaves dimension " +
          std::to_string(i) + (name.empty() ? "" : " ('" + name + "')") +
          " open; the check assumes " + std::to_string(dims[i]));
    }
    all.push_back(std::move(dims));
  }
  return all;
}

//! Do something that may say what is wrong.
template<typename ActionType>
bool Try(OnnxReport& report, ActionType&& action)
{
  try
  {
    action();
    return true;
  }
  catch (const std::exception& e)
  {
    report.problems.push_back(e.what());
    return false;
  }
}

//! All that is wrong with a model that could be read.
void CheckModel(const graph::Model& model,
                const OnnxOptions& options,
                const OnnxLoss loss,
                OnnxReport& report)
{
  report.problems = graph::OperatorProblems(model);
  graph::Shapes shapes;
  const bool runs = Try(report, [&]()
  {
    shapes = graph::FindShapes(model, AssumedDims(model, options.open,
        report.remarks));
  });
  report.nodes = graph::ListNodes(model, shapes);
  if (!runs)
    return;
  Try(report, [&]()
  {
    // A model whose output is no loss needs one for each point.
    const graph::Dims& dims = shapes.Of(model.Output());
    const bool own = graph::Elements(dims, model.Output()) == 1;
    const graph::TrainingGraph training = graph::MakeTrainingGraph(model,
        shapes, own ? OnnxLoss::Model : loss, true, 1, &report.problems);
    // The runtime has not every operator for every type.
    if (report.problems.empty())
      graph::Session(training.proto, model.Type(), 1);
  });
}

} // namespace

OnnxReport CheckOnnxModel(const std::string& modelFile,
                          const OnnxOptions& options,
                          const OnnxLoss loss)
{
  OnnxReport report;
  std::ifstream file(modelFile, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf()))
  {
    report.problems.push_back("cannot read the model file '" + modelFile +
        "'");
    return report;
  }
  Try(report, [&]()
  {
    const graph::Model model(bytes.str(), graph::pb::TensorProto::FLOAT,
        options.frozen, { options.output, loss == OnnxLoss::Model },
        graph::FolderOf(modelFile));
    for (const graph::Parameter& p : model.Parameters())
      report.parameters.push_back({ p.name, p.dims, p.offset, p.elements });
    for (const std::string& name : model.Unmatched())
    {
      report.remarks.push_back("no initializer is called '" + name +
          "', which is to be frozen");
    }
    // As PyTorch's exporter calls those that it has changed.
    const auto nameless = std::find_if(model.Parameters().begin(),
        model.Parameters().end(), [](const graph::Parameter& p)
        { return p.name.compare(0, 6, "onnx::") == 0; });
    if (nameless != model.Parameters().end())
    {
      report.remarks.push_back("weights such as '" + nameless->name + "' do "
          "not have the names of the exported model, and cannot be loaded back "
          "into it by name; export in training mode and without folding of "
          "constants");
    }
    CheckModel(model, options, loss, report);
  });
  return report;
}

} // namespace dasgd
