/**
 * @file type_name.hpp
 *
 * Names of types, for messages.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_TYPE_NAME_HPP
#define DASGD_CORE_TYPE_NAME_HPP

#include <cstdlib>
#include <string>
#include <typeinfo>

#if defined(__GNUG__)
#include <cxxabi.h>
#endif

namespace dasgd {

//! The name of a type as it is written in C++.
inline std::string TypeName(const std::type_info& type)
{
  const char* name = type.name();
#if defined(__GNUG__)
  int status = 0;
  char* readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string text = (status == 0) ? readable : name;
  std::free(readable);
  return text;
#else
  return name;
#endif
}

template<typename Type>
std::string TypeName() { return TypeName(typeid(Type)); }

} // namespace dasgd

#endif
