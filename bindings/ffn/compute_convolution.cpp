/**
 * @file compute_convolution.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "ffn.hpp"

#ifdef DASGD_FFN_CONVOLUTION_CLASSES
DASGD_FFN_CONVOLUTION_CLASSES()
#endif
