/**
 * @file data.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "data.hpp"

#include <data/idx_file.hpp>
#include <data/input_file.hpp>
#include <data/labels.hpp>
#include <data/npy_file.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace dasgd {
namespace onnx_program {

namespace {

using Whole = arma::Mat<arma::s64>;
using File = cli::InputFile;

OnnxArray FromNumPy(NpyArray&& read)
{
  OnnxArray array;
  array.name = read.name;
  // The model's dimensions decide where they are known.
  array.dims.assign(read.sizes.begin() + 1, read.sizes.end());
  array.values = std::move(read.values);
  return array;
}

//! Values other than tokens and classes are scaled, and must be finite.
void Prepare(OnnxArray& array, const double scale, const std::string& name)
{
  std::visit([&](auto& values)
  {
    using ElemType = typename std::decay_t<decltype(values)>::elem_type;
    if constexpr (!std::is_integral_v<ElemType>)
    {
      if (scale != 1)
        values *= ElemType(scale);
      if (!values.is_finite())
      {
        throw std::invalid_argument("Values of " + name + " are infinite or "
            "not a number; remove or replace them!");
      }
    }
  }, array.values);
}

//! Targets from a file of their own.
OnnxArray ReadTargets(const File& file, const size_t points)
{
  const std::string ending = cli::FileEnding(file.path);
  OnnxArray targets = file.Read([&]()
  {
    OnnxArray array;
    if (ending == "npy")
      array = FromNumPy(LoadNpy(file.path));
    else if (ending == "npz")
    {
      std::vector<NpyArray> arrays = LoadNpz(file.path);
      if (arrays.size() != 1)
      {
        throw std::invalid_argument("it holds " +
            std::to_string(arrays.size()) + " arrays, but should hold one");
      }
      array = FromNumPy(std::move(arrays[0]));
    }
    else if (IsIdxFile(file.path))
    {
      array.values = arma::conv_to<Whole>::from(arma::conv_to<arma::mat>::from(
          LoadIdxLabels(file.path)));
    }
    else
    {
      arma::mat values;
      const std::string problem = cli::LoadMatrix(file.path, values);
      if (!problem.empty())
        throw std::invalid_argument(problem);
      // One number for each point may be in a line or in a column.
      if (values.n_cols == 1 && values.n_rows == points)
        values = values.t();
      array.values = std::move(values);
    }
    return array;
  });
  Prepare(targets, 1, file.name);
  return targets;
}

//! The last row as labels.
arma::Row<size_t> Labels(const arma::rowvec& last, const std::string& name)
{
  arma::Row<size_t> labels(last.n_elem);
  for (size_t i = 0; i < last.n_elem; ++i)
  {
    if (!IsIndex(last[i]))
    {
      std::ostringstream text;
      text << "The last column of " << name << " must hold labels, but in row "
          << i + 1 << " it is " << last[i] << "; labels are whole numbers from "
          << "0 on!";
      throw std::invalid_argument(text.str());
    }
    labels[i] = size_t(last[i]);
  }
  return labels;
}

//! Take the last row off, which has what points should become.
OnnxArray TakeTargets(arma::mat& points,
                      const bool classes,
                      const std::string& name)
{
  OnnxArray targets;
  if (points.n_rows < 2)
  {
    throw std::invalid_argument(name + " has one column; it needs one more, "
        "for what the model should give, or a file of its own for that!");
  }
  const arma::mat last = points.tail_rows(1);
  if (classes)
  {
    targets.values = arma::conv_to<Whole>::from(arma::conv_to<arma::mat>::from(
        Labels(last, name)));
  }
  else
    targets.values = last;
  points.shed_row(points.n_rows - 1);
  return targets;
}

DataSet ReadBytes(const File& file, const size_t length)
{
  std::ifstream stream(file.path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? std::streamoff(stream.tellg()) : -1;
  const size_t count = size < 1 ? 0 : size_t(size - 1) / length;
  if (count == 0)
  {
    throw std::invalid_argument("The text of " + file.name + " has " +
        std::to_string(std::max<std::streamoff>(size, 0)) + " bytes, but a "
        "point takes " + std::to_string(length) + " and the one after them; "
        "give a longer text!");
  }
  std::string bytes(count * length + 1, '\0');
  stream.seekg(0);
  if (!stream.read(&bytes[0], std::streamsize(bytes.size())))
    throw std::invalid_argument("Cannot read the text of " + file.name + "!");
  Whole from, to;
  from.set_size(length, count);
  to.set_size(length, count);
  for (size_t i = 0; i < from.n_elem; ++i)
  {
    from[i] = (unsigned char) bytes[i];
    to[i] = (unsigned char) bytes[i + 1];
  }
  DataSet set;
  set.inputs.resize(1);
  set.inputs[0].dims = set.targets.dims = { std::int64_t(length) };
  set.inputs[0].values = std::move(from);
  set.targets.values = std::move(to);
  return set;
}

DataSet ReadArchive(const File& file, const bool apart)
{
  DataSet set;
  for (NpyArray& array : file.Read([&]() { return LoadNpz(file.path); }))
  {
    static const std::set<std::string> names{ "labels", "targets", "y" };
    if (!apart && names.count(array.name))
    {
      if (set.targets.Points() > 0)
      {
        throw std::invalid_argument(file.name + " has targets twice, as '" +
            set.targets.name + "' and as '" + array.name + "'!");
      }
      set.targets = FromNumPy(std::move(array));
    }
    else
      set.inputs.push_back(FromNumPy(std::move(array)));
  }
  // There is no doubt what it is for.
  if (set.inputs.size() == 1)
    set.inputs[0].name.clear();
  return set;
}

//! A table of numbers or images, with a point in each column.
arma::mat ReadValues(const File& file)
{
  const arma::mat values = file.Read([&]()
  {
    size_t width = 0, height = 0;
    if (IsIdxFile(file.path))
      return LoadIdxImages(file.path, width, height);
    Table table = cli::LoadTable(file.path, [](const auto&)
        { return NoColumn; });
    RequireNumbers(table);
    return table.values;
  });
  cli::CheckFinite(values, file.name);
  return values;
}

} // namespace

DataSet ReadData(const std::string& points,
                 const std::string& targets,
                 const std::string& pointsName,
                 const std::string& targetsName,
                 const DataOptions& options)
{
  const File file(points, pointsName, options.sharded);
  if (options.textLength > 0)
    return ReadBytes(file, options.textLength);

  const std::string ending = cli::FileEnding(file.path);
  const bool apart = !targets.empty();
  DataSet set;
  if (ending == "npz")
    set = ReadArchive(file, apart);
  else if (ending == "npy")
  {
    set.inputs.push_back(FromNumPy(file.Read([&]()
        { return LoadNpy(file.path); })));
  }
  else
  {
    arma::mat values = ReadValues(file);
    if (!IsIdxFile(file.path))
    {
      if (!apart && options.targeted)
        set.targets = TakeTargets(values, options.classes, pointsName);
      if (options.scale != 1)
        values *= options.scale;
    }
    set.inputs.emplace_back();
    // Half of the memory, and what is computed with.
    set.inputs[0].values = arma::conv_to<arma::fmat>::from(values);
    if (!values.is_empty() && arma::abs(values).max() > 16777216.0)
      set.inputs[0].values = std::move(values);
  }
  if (ending == "npz" || ending == "npy")
  {
    for (OnnxArray& array : set.inputs)
      Prepare(array, options.scale, pointsName);
    Prepare(set.targets, 1, pointsName);
  }
  if (apart)
  {
    set.targets = ReadTargets(File(targets, targetsName, options.sharded),
        set.inputs[0].Points());
  }
  if (options.targeted && set.targets.Points() == 0)
  {
    throw std::invalid_argument("Must specify " + targetsName + ": " +
        pointsName + (ending == "npz" ? " has no array 'labels', 'targets' or "
        "'y'!" : " comes without labels!"));
  }
  if (set.targets.Points() > 0)
  {
    cli::CheckCount(pointsName, set.inputs[0].Points(), apart ? targetsName :
        pointsName, set.targets.Points());
  }
  return set;
}

} // namespace onnx_program
} // namespace dasgd
