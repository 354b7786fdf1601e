/**
 * @file kinds.hpp
 *
 * The kinds of parameters that bindings have.  Those of numbers, texts and
 * matrices are compiled once, in kinds.cpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_KINDS_HPP
#define DASGD_FRONT_END_KINDS_HPP

#include "kind.hpp"

#include <any>

namespace dasgd {
namespace cli {

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

//! Is a type of parameter read from a file?
template<typename T>
struct IsFiled : std::integral_constant<bool, arma::is_arma_type<T>::value> { };
template<typename T>
struct IsFiled<T*> : std::true_type { };
template<typename InfoType>
struct IsFiled<std::tuple<InfoType, arma::mat>> : std::true_type { };

//! What all kinds share whose values are in files.
template<typename T>
class FiledKind : public FileKind
{
 public:
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

 protected:
  static Filed<T>& Of(ParamData& data)
  { return *std::any_cast<Filed<T>>(&data.value); }
  static const Filed<T>& Of(const ParamData& data)
  { return *std::any_cast<Filed<T>>(&data.value); }

  virtual void Load(ParamData& data, Filed<T>& filed) const = 0;
};

//! The kind of a type of parameters.
template<typename T>
struct KindFor
{
  //! Defined in kinds.cpp for the types that bindings have.
  static const Kind& Get();
};

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
         const std::string& bindingName);

 private:
  // mlpack finds these functions by the type's name.
  static void GetKind(ParamData& data, const void* input, void* output);
  static void GetParam(ParamData& data, const void* input, void* output);
  static void GetPrintable(ParamData& data, const void* input, void* output);
  static void InPlaceCopy(ParamData& data, const void* input, void* output);
};

template<typename T>
Option<T>::Option(const T defaultValue,
                  const std::string& identifier,
                  const std::string& description,
                  const std::string& alias,
                  const std::string& cppName,
                  const bool required,
                  const bool input,
                  const bool noTranspose,
                  const std::string& bindingName)
{
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
  if constexpr (dasgd::cli::IsFiled<T>::value)
    data.value = dasgd::cli::Filed<T>{ "", defaultValue, "" };
  else
    data.value = defaultValue;

  IO::AddFunction(data.tname, "Kind", &GetKind);
  IO::AddFunction(data.tname, "GetParam", &GetParam);
  IO::AddFunction(data.tname, "GetPrintableParam", &GetPrintable);
  IO::AddFunction(data.tname, "InPlaceCopy", &InPlaceCopy);
  IO::AddParameter(bindingName, std::move(data));
}

template<typename T>
void Option<T>::GetKind(ParamData&, const void*, void* output)
{
  *static_cast<const dasgd::cli::Kind**>(output) =
      &dasgd::cli::KindFor<T>::Get();
}

template<typename T>
void Option<T>::GetParam(ParamData& data, const void*, void* output)
{
  *static_cast<T**>(output) = static_cast<T*>(
      dasgd::cli::KindFor<T>::Get().Get(data));
}

template<typename T>
void Option<T>::GetPrintable(ParamData& data, const void*, void* output)
{
  *static_cast<std::string*>(output) =
      dasgd::cli::KindFor<T>::Get().Printable(data);
}

//! The output goes to the file that the input came from.
template<typename T>
void Option<T>::InPlaceCopy(ParamData& data, const void* input, void*)
{
  const dasgd::cli::Kind& kind = dasgd::cli::KindFor<T>::Get();
  if (kind.InFile())
  {
    kind.Path(data) = kind.Path(
        *const_cast<ParamData*>(static_cast<const ParamData*>(input)));
  }
}

extern template class Option<bool>;
extern template class Option<int>;
extern template class Option<double>;
extern template class Option<std::string>;
extern template class Option<std::vector<int>>;
extern template class Option<std::vector<double>>;
extern template class Option<std::vector<std::string>>;
extern template class Option<arma::mat>;
extern template class Option<arma::vec>;
extern template class Option<arma::rowvec>;
extern template class Option<arma::Mat<size_t>>;
extern template class Option<arma::Col<size_t>>;
extern template class Option<arma::Row<size_t>>;

} // namespace util
} // namespace mlpack

#endif
