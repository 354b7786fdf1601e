/**
 * @file kinds.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "kinds.hpp"
#include "value_text.hpp"

#include <data/load.hpp>
#include <data/number.hpp>
#include <terminal/params.hpp>

#include <mlpack/core/util/is_std_vector.hpp>

#include <cstdlib>
#include <fstream>

namespace dasgd {
namespace cli {

using mlpack::Log::Fatal;

std::string& Kind::Path(ParamData& data) const
{ throw std::logic_error("parameter '" + data.name + "' is in no file"); }

void Kind::Save(ParamData& data, const std::string& path) const
{
  throw std::logic_error("parameter '" + data.name + "' is in no file, so it "
      "cannot be written to '" + path + "'");
}

const Kind& KindOf(Params& params, ParamData& data)
{
  const Kind* kind = nullptr;
  params.functionMap[data.tname]["Kind"](data, nullptr, &kind);
  return *kind;
}

void FileKind::Parse(ParamData& data, const std::vector<std::string>& words)
    const
{ Path(data) = words.back(); }

void FileKind::Check(ParamData& data) const
{
  const std::string& path = Path(data);
  const std::string reason = ReadProblem(path);
  if (!reason.empty())
  {
    Fatal << "Cannot open file '" << path << "', given with "
        << OptionText(data) << ": " << reason << "; "
        << (path.find("{rank}") == std::string::npos ? "check the name!" :
        "is --sharded missing?") << std::endl;
  }
}

void FileKind::Unreadable(ParamData& data,
                          const std::string& path,
                          const std::string& remedy) const
{
  Fatal << "Loading from '" << path << "', given with "
      << OptionText(data) << ", failed; " << remedy << "!" << std::endl;
  std::abort(); // Fatal has thrown.
}

namespace {

// The names of types.
std::string TypeText(const bool*) { return "flag"; }
std::string TypeText(const int*) { return "int"; }
std::string TypeText(const double*) { return "double"; }
std::string TypeText(const std::string*) { return "string"; }
template<typename T>
std::string TypeText(const std::vector<T>*)
{ return TypeText(static_cast<const T*>(nullptr)) + " vector"; }

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
      Fatal << "Invalid value of " << OptionText(data) << " specified ('"
          << given << "'); it must be a " << (Type(data).find("int") == 0 ?
          "whole number, at most 2147483647" : "number") << "!" << std::endl;
    }
    data.value = value;
  }

  void* Get(ParamData& data) const override
  { return std::any_cast<T>(&data.value); }

  std::string Printable(ParamData& data) const override
  { return ValueText(*std::any_cast<T>(&data.value), false); }

 private:
  static bool Convert(const std::string& word, std::string& value)
  {
    value = word;
    return true;
  }

  //! All of the word must be a number, and an empty one is none.
  template<typename ValueType>
  static bool Convert(const std::string& word, ValueType& value)
  { return ParseNumber(word, value); }
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
    const T& value = this->Of(data).value;
    const std::string ending = FileEnding(this->Of(data).path);
    const bool text = ending == "csv" || ending == "tsv" || ending == "txt";
    if (text && !ValueNames()[data.name].empty())
      SaveNamed(path, value, ValueNames()[data.name]);
    else if (!SaveMatrix(path, value, !data.noTranspose))
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
  //! Write a name for each value.
  static void SaveNamed(const std::string& path,
                        const T& value,
                        const std::vector<std::string>& names)
  {
    std::ofstream file(path, std::ios::binary);
    for (const auto number : value)
    {
      const std::string name = size_t(number) < names.size() ?
          names[size_t(number)] : std::to_string(size_t(number));
      // Quotes, where it would be read as several values without.
      const bool quotes = name.find_first_of(",; \t\"") != std::string::npos;
      file << (quotes ? "\"" : "") << name << (quotes ? "\"\n" : "\n");
    }
    file.close();
    if (!file)
      throw std::runtime_error("it cannot be written; is the disk full?");
  }

  //! As the file has it: a point in each row.
  static std::string Shape(const ParamData& data, const T& value)
  {
    const bool turned = T::is_row || (!data.noTranspose && !T::is_col);
    return std::to_string(turned ? value.n_cols : value.n_rows) + "x" +
        std::to_string(turned ? value.n_rows : value.n_cols);
  }
};

} // namespace

template<typename T>
const Kind& KindFor<T>::Get()
{
  static const std::conditional_t<IsFiled<T>::value, MatrixKind<T>,
      PlainKind<T>> kind;
  return kind;
}

} // namespace cli
} // namespace dasgd

namespace mlpack {
namespace util {

template class Option<bool>;
template class Option<int>;
template class Option<double>;
template class Option<std::string>;
template class Option<std::vector<int>>;
template class Option<std::vector<double>>;
template class Option<std::vector<std::string>>;
template class Option<arma::mat>;
template class Option<arma::vec>;
template class Option<arma::rowvec>;
template class Option<arma::Mat<size_t>>;
template class Option<arma::Col<size_t>>;
template class Option<arma::Row<size_t>>;

} // namespace util
} // namespace mlpack
