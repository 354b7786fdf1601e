/**
 * @file kind.hpp
 *
 * What the command line must know of a parameter beyond its name: a flag, a
 * number, a matrix or a model in a file, ...
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_KIND_HPP
#define DASGD_FRONT_END_KIND_HPP

#include <terminal/log.hpp>
#include <terminal/params.hpp>

#include <mlpack/core.hpp>

namespace dasgd {
namespace cli {

using mlpack::util::ParamData;
using mlpack::util::Params;

//! One kind of parameter; there is one object for each type, without state.
class Kind
{
 public:
  virtual ~Kind() = default;

  //! The type, as help and documentation print it.
  virtual std::string Type(const ParamData& data) const = 0;
  //! Does it take no value?
  virtual bool Flag() const { return false; }
  //! Does it take several words?
  virtual bool Many() const { return false; }
  //! Is it given by the name of a file?
  virtual bool InFile() const { return false; }
  //! The default value as on a command line; empty if there is none.
  virtual std::string Default(const ParamData& /* data */) const { return ""; }

  //! Set it from the words that followed its name.
  virtual void Parse(ParamData& data,
                     const std::vector<std::string>& words) const = 0;
  //! The value as a pointer to the type that Params::Get() is called with; read
  //! from its file if that has not been done.
  virtual void* Get(ParamData& data) const = 0;
  //! The value in a few characters.
  virtual std::string Printable(ParamData& data) const = 0;

  // The rest is for parameters in files only.

  //! The name of the file.
  virtual std::string& Path(ParamData& data) const;
  //! Fatal if there is no such file.
  virtual void Check(ParamData& /* data */) const { }
  //! Write it.
  virtual void Save(ParamData& data, const std::string& path) const;
  //! Which files it can be written to: their endings, or none for any.
  virtual std::vector<std::string> Endings() const { return {}; }
  //! Is it a model?
  virtual bool HoldsModel() const { return false; }
  //! The model of the parameter, or null; several parameters may share one.
  virtual void* Model(const ParamData& /* data */) const { return nullptr; }
  //! Delete that model.
  virtual void DeleteModel(ParamData& /* data */) const { }
};

//! The kind of a parameter.
const Kind& KindOf(Params& params, ParamData& data);

//! The kind of parameters in files.
class FileKind : public Kind
{
 public:
  bool InFile() const override { return true; }

  void Parse(ParamData& data, const std::vector<std::string>& words) const
      override;

  void Check(ParamData& data) const override;

 protected:
  //! Fail because the file cannot be read.
  [[noreturn]] void Unreadable(ParamData& data,
                               const std::string& path,
                               const std::string& remedy) const;
};

} // namespace cli
} // namespace dasgd

#endif
