/**
 * @file model.hpp
 *
 * Networks that can be saved and loaded; see serialize.cpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_FFN_MODEL_HPP
#define DASGD_BINDINGS_FFN_MODEL_HPP

#include "ffn.hpp"

#include <training/archive.hpp>

DASGD_MODEL_ARCHIVES(extern, dasgd::ffn::Network)

#endif
