/**
 * @file mlpack_main.hpp
 *
 * Makes a command-line program of a binding.  mlpack's packages leave this part
 * out; <mlpack/core/util/mlpack_main.hpp> includes it by this name.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_MLPACK_MAIN_HPP
#define DASGD_FRONT_END_MLPACK_MAIN_HPP

#ifndef BINDING_TYPE
#error "Define BINDING_TYPE as BINDING_TYPE_CLI."
#endif
#ifndef BINDING_NAME
#error "Define BINDING_NAME before you include mlpack_main.hpp."
#endif

// What the words of a binding's documentation stand for.
#define BINDING_MIN_LABEL 0
#define BINDING_MATRIX_TRANSPOSED true
#define PRINT_DATASET(X) dasgd::cli::DatasetText(X)
#define PRINT_MODEL(X) dasgd::cli::ModelText(X)
#define PRINT_CALL(...) dasgd::cli::CallText(__VA_ARGS__)

// The same, told step by step; there is nothing to import on a command line.
#define IMPORT_EXT_LIB() std::string()
#define IMPORT_SPLIT() std::string()
#define IMPORT_THIS(GROUP) std::string()
#define CREATE_OBJECT(NAME, GROUP) std::string()
#define GET_DATASET(NAME, URL) dasgd::cli::FetchText(NAME, URL)
#define SPLIT_TRAIN_TEST(...) dasgd::cli::SplitText(__VA_ARGS__)
#define CALL_METHOD(OBJECT, METHOD, ...) \
    dasgd::cli::CallText(STRINGIFY(BINDING_NAME), __VA_ARGS__)

#include "check_macros.hpp"
#include "model_kind.hpp"
#include "program.hpp"
#include <mlpack/core/util/param.hpp>

// The options of every program.
PARAM_GLOBAL(bool, "help", "Print this help.", "h", "bool", false, true, false,
    false);
PARAM_GLOBAL(std::string, "info", "Print the help of one option.", "",
    "std::string", false, true, false, "");
PARAM_GLOBAL(bool, "verbose", "Print what is done, and at the end all "
    "parameters and times.", "v", "bool", false, true, false, false);
PARAM_GLOBAL(bool, "version", "Print the version.", "V", "bool", false, true,
    false, false);

// Defined by the binding.
void BINDING_FUNCTION(mlpack::util::Params& params,
                      mlpack::util::Timers& timers);

int main(int argc, char** argv)
{
  return dasgd::cli::RunProgram(argc, argv, STRINGIFY(BINDING_NAME),
      &BINDING_NAME);
}

#endif
