/**
 * @file kinds.hpp
 *
 * The kinds of parameters that bindings have.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_KINDS_HPP
#define DASGD_FRONT_END_KINDS_HPP

#include "kind.hpp"

#include <common/load.hpp>

#include <mlpack/core/util/is_std_vector.hpp>

#include <CLI/CLI.hpp>
#include <cereal/archives/binary.hpp>
#include <cereal/archives/json.hpp>
#include <cereal/archives/xml.hpp>

#include <fstream>

namespace dasgd {
namespace cli {

using mlpack::Log::Fatal;

// The names of types.
inline std::string TypeText(const bool*) { return "flag"; }
inline std::string TypeText(const int*) { return "int"; }
inline std::string TypeText(const double*) { return "double"; }
inline std::string TypeText(const std::string*) { return "string"; }
template<typename T>
std::string TypeText(const std::vector<T>*)
{ return TypeText(static_cast<const T*>(nullptr)) + " vector"; }

// Values as one would write them.
inline std::string ValueText(const std::string& value, const bool quotes = true)
{ return quotes ? "'" + value + "'" : value; }
template<typename T>
std::string ValueText(const T& value, const bool /* quotes */ = true)
{
  std::ostringstream text;
  text << value;
  return text.str();
}
template<typename T>
std::string ValueText(const std::vector<T>& values, const bool quotes = true)
{
  std::string text;
  for (const T& value : values)
    text += (text.empty() ? "" : ",") + ValueText(value, quotes);
  return text;
}

//! Numbers, texts and lists of them, and flags.
template<typename T>
class PlainKind : public Kind
{
 public:
  std::string Type(const ParamData&) const override
  { return TypeText(static_cast<const T*>(nullptr)); }
  bool Flag() const override { return std::is_same<T, bool>::value; }
  bool Many() const override { return mlpack::util::IsStdVector<T>::value; }

  std::string Default(const ParamData& data) const override
  { return Flag() ? "" : ValueText(*std::any_cast<T>(&data.value)); }

  void Parse(ParamData& data, const std::vector<std::string>& words) const
      override
  {
    T value{};
    bool good = true;
    if constexpr (std::is_same<T, bool>::value)
      value = true;
    else if constexpr (mlpack::util::IsStdVector<T>::value)
    {
      for (const std::string& word : words)
      {
        typename T::value_type one{};
        good = good && Convert(word, one);
        value.push_back(one);
      }
    }
    else
      good = Convert(words.back(), value);
    if (!good)
    {
      std::string given;
      for (const std::string& word : words)
        given += (given.empty() ? "" : ",") + word;
      Fatal << "Invalid value of " << FullName(*this, data) << " specified ('"
          << given << "'); it must be a " << (TypeText(static_cast<const T*>(
          nullptr)).find("int") == 0 ? "whole number, at most 2147483647" :
          "number") << "!" << std::endl;
    }
    data.value = value;
  }

  void* Get(ParamData& data) const override
  { return std::any_cast<T>(&data.value); }

  std::string Printable(ParamData& data) const override
  { return ValueText(*std::any_cast<T>(&data.value), false); }

 private:
  //! All of the word must be a value: nothing stands for 0, least of all
  //! nothing.
  template<typename ValueType>
  static bool Convert(const std::string& word, ValueType& value)
  {
    if constexpr (std::is_same<ValueType, std::string>::value)
    {
      value = word;
      return true;
    }
    else if constexpr (std::is_same<ValueType, int>::value ||
        std::is_same<ValueType, double>::value)
      return ParseNumber(word, value);
    else
      return CLI::detail::lexical_cast(word, value) && !word.empty();
  }
};

//! What a file holds, with its name.
template<typename T>
struct Filed
{
  std::string path;
  T value{};
  //! Rows and columns of the file, once they are known; the binding may have
  //! moved the value away by then.
  std::string shape = "";
};

//! What all kinds share whose values are in files.
template<typename T>
class FiledKind : public Kind
{
 public:
  bool InFile() const override { return true; }

  void Parse(ParamData& data, const std::vector<std::string>& words) const
      override
  { Of(data).path = words.back(); }

  void* Get(ParamData& data) const override
  {
    Filed<T>& filed = Of(data);
    if (data.input && data.wasPassed && !data.loaded)
    {
      Check(data);
      Load(data, filed);
      data.loaded = true;
    }
    return &filed.value;
  }

  std::string& Path(ParamData& data) const override { return Of(data).path; }

  void Check(ParamData& data) const override
  {
    const std::string& path = Of(data).path;
    const std::string reason = ReadProblem(path);
    if (!reason.empty())
    {
      Fatal << "Cannot open file '" << path << "', given with "
          << FullName(*this, data) << ": " << reason << "; "
          << (path.find("{rank}") == std::string::npos ? "check the name!" :
          "is --sharded missing?") << std::endl;
    }
  }

 protected:
  static Filed<T>& Of(ParamData& data)
  { return *std::any_cast<Filed<T>>(&data.value); }
  static const Filed<T>& Of(const ParamData& data)
  { return *std::any_cast<Filed<T>>(&data.value); }

  virtual void Load(ParamData& data, Filed<T>& filed) const = 0;

  //! Reading the file has failed; why has been printed if it is known.
  [[noreturn]] void Unreadable(ParamData& data,
                               const std::string& path,
                               const std::string& remedy) const
  {
    Fatal << "Loading from '" << path << "', given with "
        << FullName(*this, data) << ", failed; " << remedy << "!" << std::endl;
    std::abort(); // Fatal has thrown.
  }
};

//! Matrices and vectors.
template<typename T>
class MatrixKind : public FiledKind<T>
{
 public:
  std::string Type(const ParamData&) const override
  {
    return std::string(T::is_row || T::is_col ? "1-d " : "2-d ") +
        (std::is_same<typename T::elem_type, size_t>::value ? "index " : "") +
        "matrix file";
  }

  std::string Printable(ParamData& data) const override
  {
    Filed<T>& filed = this->Of(data);
    const std::string shape = data.input || filed.value.is_empty() ?
        filed.shape : Shape(data, filed.value);
    return "'" + filed.path + "'" + (shape.empty() ? "" : " (" + shape +
        " matrix)");
  }

  void Save(ParamData& data, const std::string& path) const override
  {
    if (!SaveMatrix(path, this->Of(data).value, !data.noTranspose))
      throw std::runtime_error("it cannot be written; is the disk full?");
  }

  std::vector<std::string> Endings() const override
  { return { "csv", "tsv", "txt", "bin", "pgm", "h5", "hdf5", "hdf", "he5" }; }

 protected:
  void Load(ParamData& data, Filed<T>& filed) const override
  {
    const std::string problem = LoadMatrix(filed.path, filed.value,
        !data.noTranspose);
    if (!problem.empty())
      this->Unreadable(data, filed.path, problem);
    filed.shape = Shape(data, filed.value);
  }

 private:
  //! As the file has it: a point in each row.
  static std::string Shape(const ParamData& data, const T& value)
  {
    const bool turned = T::is_row || (!data.noTranspose && !T::is_col);
    return std::to_string(turned ? value.n_cols : value.n_rows) + "x" +
        std::to_string(turned ? value.n_rows : value.n_cols);
  }
};

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
  void Load(ParamData& data, Filed<T>& filed) const override
  {
    if (!LoadCategorical(filed.path, std::get<1>(filed.value),
        std::get<0>(filed.value), !data.noTranspose))
      this->Unreadable(data, filed.path, "give .csv, .tsv, .txt or .arff");
    const arma::mat& value = std::get<1>(filed.value);
    filed.shape = std::to_string(value.n_cols) + "x" +
        std::to_string(value.n_rows);
  }
};

//! Serialized models.
template<typename T>
class ModelKind : public FiledKind<T*>
{
 public:
  std::string Type(const ParamData& data) const override
  { return data.cppType + " file"; }

  std::string Printable(ParamData& data) const override
  { return "'" + this->Of(data).path + "' (" + data.cppType + " model)"; }

  //! As mlpack saves models, but with an eye on full disks.
  void Save(ParamData& data, const std::string& path) const override
  {
    T* model = this->Of(data).value;
    if (!model)
      throw std::runtime_error("there is no model to save");
    std::ofstream file(path, std::ios::binary);
    Visit(path, [&](auto archive)
    {
      typename decltype(archive)::Out out(file);
      out(cereal::make_nvp("model", *model));
    });
    file.close();
    if (!file)
      throw std::runtime_error("it cannot be written; is the disk full?");
  }

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
  void Load(ParamData& data, Filed<T*>& filed) const override
  {
    auto model = std::make_unique<T>();
    try
    {
      std::ifstream file(filed.path, std::ios::binary);
      Visit(filed.path, [&](auto archive)
      {
        typename decltype(archive)::In in(file);
        in(cereal::make_nvp("model", *model));
      });
    }
    catch (const std::exception& e)
    {
      // The first line says it; XML and JSON parsers go on at length.
      const std::string reason = e.what();
      this->Unreadable(data, filed.path, "is it a model of type " +
          data.cppType + ", written as .bin, .xml or .json by the same version "
          "of mlpack (" + reason.substr(0, reason.find('\n')) + ")");
    }
    filed.value = model.release();
  }

 private:
  template<typename InType, typename OutType>
  struct Archives
  {
    using In = InType;
    using Out = OutType;
  };

  //! Call the action with the archives that a file's name asks for.
  template<typename ActionType>
  static void Visit(const std::string& path, ActionType&& action)
  {
    const size_t dot = path.rfind('.');
    const std::string ending = (dot == std::string::npos) ? "" :
        CLI::detail::to_lower(path.substr(dot + 1));
    if (ending == "xml")
      action(Archives<cereal::XMLInputArchive, cereal::XMLOutputArchive>());
    else if (ending == "json")
      action(Archives<cereal::JSONInputArchive, cereal::JSONOutputArchive>());
    else if (ending == "bin")
    {
      action(Archives<cereal::BinaryInputArchive,
          cereal::BinaryOutputArchive>());
    }
    else
      throw std::runtime_error("'." + ending + "' is no known ending");
  }
};

//! Which kind a type is of.
template<typename T, typename = void>
struct KindFor { using Type = PlainKind<T>; };
template<typename T>
struct KindFor<T, std::enable_if_t<arma::is_arma_type<T>::value>>
{ using Type = MatrixKind<T>; };
template<typename InfoType>
struct KindFor<std::tuple<InfoType, arma::mat>>
{ using Type = CategoricalKind<std::tuple<InfoType, arma::mat>>; };
template<typename T>
struct KindFor<T*> { using Type = ModelKind<T>; };

} // namespace cli
} // namespace dasgd

namespace mlpack {
namespace util {

/**
 * What the PARAM_*() macros define: registers a parameter of a binding.
 *
 * @tparam T Type that the binding gets; a pointer for models.
 */
template<typename T>
class Option
{
 public:
  Option(const T defaultValue,
         const std::string& identifier,
         const std::string& description,
         const std::string& alias,
         const std::string& cppName,
         const bool required,
         const bool input,
         const bool noTranspose,
         const std::string& bindingName)
  {
    using KindType = typename dasgd::cli::KindFor<T>::Type;
    ParamData data;
    data.name = identifier;
    data.desc = description;
    data.tname = TYPENAME(T);
    data.alias = alias.empty() ? '\0' : alias[0];
    data.wasPassed = false;
    data.noTranspose = noTranspose;
    data.required = required;
    data.input = input;
    data.loaded = false;
    data.cppType = cppName;
    if (KindType().InFile())
      data.value = dasgd::cli::Filed<T>{ "", defaultValue, "" };
    else
      data.value = defaultValue;

    // mlpack finds what it can do with a parameter by its type's name.
    IO::AddFunction(data.tname, "Kind", &GetKind<KindType>);
    IO::AddFunction(data.tname, "GetParam", &GetParam<KindType>);
    IO::AddFunction(data.tname, "GetPrintableParam", &GetPrintable<KindType>);
    IO::AddFunction(data.tname, "InPlaceCopy", &InPlaceCopy<KindType>);
    IO::AddParameter(bindingName, std::move(data));
  }

 private:
  template<typename KindType>
  static void GetKind(ParamData&, const void*, void* output)
  {
    static const KindType kind;
    *static_cast<const dasgd::cli::Kind**>(output) = &kind;
  }

  template<typename KindType>
  static void GetParam(ParamData& data, const void*, void* output)
  { *static_cast<T**>(output) = static_cast<T*>(KindType().Get(data)); }

  template<typename KindType>
  static void GetPrintable(ParamData& data, const void*, void* output)
  { *static_cast<std::string*>(output) = KindType().Printable(data); }

  //! The output goes to the file that the input came from.
  template<typename KindType>
  static void InPlaceCopy(ParamData& data, const void* input, void*)
  {
    const KindType kind;
    if (kind.InFile())
    {
      kind.Path(data) = kind.Path(
          *const_cast<ParamData*>(static_cast<const ParamData*>(input)));
    }
  }
};

} // namespace util
} // namespace mlpack

#endif
