/**
 * @file optimizer_params.hpp
 *
 * The parameters that all programs of this project share.  To be included by a
 * binding, after mlpack_main.hpp; aliases that the binding needs for something
 * else it defines before.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_OPTIMIZER_PARAMS_HPP
#define DASGD_BINDINGS_COMMON_OPTIMIZER_PARAMS_HPP

#ifndef DASGD_STEP_SIZE_ALIAS
#define DASGD_STEP_SIZE_ALIAS "s"
#endif
#ifndef DASGD_SEED_ALIAS
#define DASGD_SEED_ALIAS ""
#endif
#ifndef DASGD_EPOCHS
#define DASGD_EPOCHS 0
#endif

PARAM_DOUBLE_IN("step_size", "Step size: how far to go along the mean gradient "
    "of a batch (with 'adam': Adam's step size).", DASGD_STEP_SIZE_ALIAS, 0.01);
PARAM_INT_IN("batch_size", "Number of points in each gradient.", "b", 32);
PARAM_INT_IN("max_iterations", "Number of points to visit, over all ranks "
    "(0 indicates no limit).", "n", 100000);
PARAM_INT_IN("epochs", "Number of passes over the data, instead of "
    "max_iterations (0: as that says).", "E", DASGD_EPOCHS);
PARAM_DOUBLE_IN("tolerance", "Stop when an epoch changes the objective by "
    "less; a negative number means never.", "e", 1e-5);
PARAM_STRING_IN("update", "How a gradient becomes a step: 'sgd', 'momentum' or "
    "'adam'.", "u", "sgd");
PARAM_STRING_IN("topology", "Which ranks exchange gradients: 'complete', "
    "'ring', 'exponential', 'tree:K', 'mesh:RxC', 'graph:0-1,1-2,...' or "
    "'file:PATH'.", "g", "complete");
PARAM_STRING_IN("wire_format", "How updates travel: 'exact', 'float32', "
    "'bfloat16' or 'topk:FRACTION'; the shorter ones round, and send later what "
    "was rounded away.", "", "exact");
PARAM_STRING_IN("sharing", "How work is divided: 'static', every rank does its "
    "share, or 'dynamic', fast ranks do more.", "", "static");
PARAM_INT_IN("ranks", "Number of processes to train with: the program starts "
    "itself under mpirun.  Leave it out if it is under mpirun already.", "R",
    1);
PARAM_FLAG("sharded", "Every rank reads training data of its own; '{rank}' in "
    "a file name stands for its number, from 0.", "");
PARAM_INT_IN("seed", "Random seed: of the start and of the order of points.  If "
    "0, 'std::time(NULL)' is used.", DASGD_SEED_ALIAS, 0);
PARAM_FLAG("progress", "Show a line of progress while training, if standard "
    "error is a terminal.", "");
PARAM_STRING_IN("checkpoint_file", "File to save the state of the training to "
    "while it goes on.  If it is there, the training goes on from it, with as "
    "many ranks as there are now.", "", "");
PARAM_DOUBLE_IN("checkpoint_every", "Seconds from one checkpoint to the next.",
    "", 60);
PARAM_FLAG("restart", "Begin anew even if there is a checkpoint, and replace "
    "it.", "");
PARAM_INT_IN("restarts", "If a rank dies, start all of them again from the "
    "checkpoint, so many times at most; for use with 'ranks'.", "", 0);
PARAM_STRING_IN("report_file", "File to save the report of the training to, as "
    "JSON.", "", "");
PARAM_STRING_IN("trace_file", "File to save a trace of the training to, for "
    "Perfetto or chrome://tracing.", "", "");

#endif
