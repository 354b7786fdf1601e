/**
 * @file model_kind.hpp
 *
 * Parameters that are serialized models, or matrices with categories.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_MODEL_KIND_HPP
#define DASGD_FRONT_END_MODEL_KIND_HPP

#include "kinds.hpp"

#include <data/load.hpp>
#include <training/archive.hpp>

#include <fstream>
#include <memory>

namespace mlpack { namespace data { } }

namespace dasgd {
namespace cli {

//! Serialized models.
template<typename T>
class ModelKind : public FiledKind<T*>
{
 public:
  std::string Type(const ParamData& data) const override
  { return data.cppType + " file"; }

  std::string Printable(ParamData& data) const override
  { return "'" + this->Of(data).path + "' (" + data.cppType + " model)"; }

  //! As mlpack saves models, but it fails if the disk is full.
  void Save(ParamData& data, const std::string& path) const override;

  std::vector<std::string> Endings() const override
  { return { "bin", "xml", "json" }; }

  bool HoldsModel() const override { return true; }

  void* Model(const ParamData& data) const override
  { return this->Of(data).value; }

  void DeleteModel(ParamData& data) const override
  {
    delete this->Of(data).value;
    this->Of(data).value = nullptr;
  }

 protected:
  void Load(ParamData& data, Filed<T*>& filed) const override;
};

template<typename T>
void ModelKind<T>::Save(ParamData& data, const std::string& path) const
{
  T* model = this->Of(data).value;
  if (!model)
    throw std::runtime_error("there is no model to save");
  std::ofstream file(path, std::ios::binary);
  const std::string ending = FileEnding(path);
  if (ending == "xml")
    SaveModel<cereal::XMLOutputArchive>(file, *model);
  else if (ending == "json")
    SaveModel<cereal::JSONOutputArchive>(file, *model);
  else
    SaveModel<cereal::BinaryOutputArchive>(file, *model);
  file.close();
  if (!file)
    throw std::runtime_error("it cannot be written; is the disk full?");
}

template<typename T>
void ModelKind<T>::Load(ParamData& data, Filed<T*>& filed) const
{
  auto model = std::make_unique<T>();
  try
  {
    std::ifstream file(filed.path, std::ios::binary);
    const std::string ending = FileEnding(filed.path);
    if (ending == "xml")
      LoadModel<cereal::XMLInputArchive>(file, *model);
    else if (ending == "json")
      LoadModel<cereal::JSONInputArchive>(file, *model);
    else if (ending == "bin")
      LoadModel<cereal::BinaryInputArchive>(file, *model);
    else
      throw std::runtime_error("'." + ending + "' is no known ending");
  }
  catch (const std::exception& e)
  {
    // XML and JSON parsers go on after the first line, at length.
    const std::string reason = e.what();
    this->Unreadable(data, filed.path, "is it a model of type " +
        data.cppType + ", written as .bin, .xml or .json by the same version "
        "of mlpack (" + reason.substr(0, reason.find('\n')) + ")");
  }
  filed.value = model.release();
}

template<typename T>
struct KindFor<T*>
{
  static const Kind& Get()
  {
    static const ModelKind<T> kind;
    return kind;
  }
};

// Up to mlpack 4.6 loading and saving are in a namespace of their own.
namespace files { using namespace mlpack; using namespace mlpack::data; }

//! A matrix whose dimensions may be categories.
template<typename T>
class CategoricalKind : public FiledKind<T>
{
 public:
  std::string Type(const ParamData&) const override
  { return "2-d categorical matrix file"; }

  std::string Printable(ParamData& data) const override
  {
    Filed<T>& filed = this->Of(data);
    return "'" + filed.path + "'" + (filed.shape.empty() ? "" : " (" +
        filed.shape + " matrix with dimension type information)");
  }

 protected:
// mlpack 4.8 has other functions to load; this one is in all versions.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
  void Load(ParamData& data, Filed<T>& filed) const override
  {
    if (!files::Load(filed.path, std::get<1>(filed.value),
        std::get<0>(filed.value), false, !data.noTranspose))
      this->Unreadable(data, filed.path, "give .csv, .tsv, .txt or .arff");
    const arma::mat& value = std::get<1>(filed.value);
    filed.shape = std::to_string(value.n_cols) + "x" +
        std::to_string(value.n_rows);
  }
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
};

template<typename InfoType>
struct KindFor<std::tuple<InfoType, arma::mat>>
{
  static const Kind& Get()
  {
    static const CategoricalKind<std::tuple<InfoType, arma::mat>> kind;
    return kind;
  }
};

} // namespace cli
} // namespace dasgd

#endif
