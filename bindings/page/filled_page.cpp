/**
 * @file filled_page.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "filled_page.hpp"

#include <data/text.hpp>

#include <dasgd/version.hpp>

#include <armadillo_bits/arma_version.hpp>
#include <ensmallen_bits/ens_version.hpp>
#include <mlpack/core/util/version.hpp>
#include <mpi.h>

#include <stdexcept>

#include <dlfcn.h>

namespace dasgd {
namespace study {

std::vector<std::pair<std::string, std::string>> Versions()
{
  std::vector<std::pair<std::string, std::string>> versions;
  const auto add = [&](const std::string& name, const std::string& version)
  { versions.emplace_back(name, Trim(version)); };
  const auto dotted = [](const int major, const int minor, const int patch)
  {
    return std::to_string(major) + "." + std::to_string(minor) + "." +
        std::to_string(patch);
  };
  add("dasgd", dotted(DASGD_VERSION_MAJOR, DASGD_VERSION_MINOR,
      DASGD_VERSION_PATCH));
  add("mlpack", dotted(MLPACK_VERSION_MAJOR, MLPACK_VERSION_MINOR,
      MLPACK_VERSION_PATCH));
  add("ensmallen", dotted(ENS_VERSION_MAJOR, ENS_VERSION_MINOR,
      ENS_VERSION_PATCH));
  add("Armadillo", dotted(ARMA_VERSION_MAJOR, ARMA_VERSION_MINOR,
      ARMA_VERSION_PATCH));
  // Without MPI_Init(): only this may be asked before it.
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (MPI_Get_library_version(library, &length) == MPI_SUCCESS)
  {
    const std::string text = OneLine(std::string(library, size_t(length)));
    add("MPI", text.substr(0, std::min(text.find(','), size_t(80))));
  }
  const auto config = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT,
      "openblas_get_config"));
  add("BLAS", config ? config() : "not known");
#if defined(__VERSION__)
#if defined(__clang__)
  add("compiler", __VERSION__);
#else
  add("compiler", std::string("GCC ") + __VERSION__);
#endif
#endif
  return versions;
}

void SaveFilledPage(const std::string& path,
                    const std::string& page,
                    std::string json)
{
  const std::string mark = "@DATA@";
  const size_t at = page.find(mark);
  if (at == std::string::npos)
    throw std::logic_error("the page has no place for its data");
  // Nothing in it may end the page's script.
  for (size_t i = 0; (i = json.find('<', i)) != std::string::npos; )
    json.replace(i, 1, "\\u003c");
  SaveFile(path, [&](std::ostream& out)
      { out << page.substr(0, at) << json << page.substr(at + mark.size()); });
}

} // namespace study
} // namespace dasgd
