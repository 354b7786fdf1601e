/**
 * @file optimizer_params.hpp
 *
 * The parameters that all programs of this project share.  To be included by a
 * binding, after mlpack_main.hpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_OPTIMIZER_PARAMS_HPP
#define DASGD_BINDINGS_TRAINING_OPTIMIZER_PARAMS_HPP

#include <string>

//! What the descriptions of programs say of processes.
inline std::string ProcessesText()
{
  return "Each process computes gradients on its part of the points, sends "
      "them to the others without waiting, and applies everybody's; all end "
      "with the same model.  Start processes with " +
      PRINT_PARAM_STRING("ranks") + ", or run the program under mpirun; "
      "otherwise it is plain SGD."
      "\n\n";
}

PARAM_DOUBLE_IN("step_size", "Step size along the mean gradient of a batch; "
    "with 'adam', Adam's step size.", "s", 0.01);
PARAM_INT_IN("batch_size", "Points per gradient.", "b", 32);
PARAM_INT_IN("max_iterations", "Points to visit, over all ranks; 0 for no "
    "limit.  Without this and --epochs: until an epoch lowers the loss by less "
    "than 1 %, after 10 to 50 epochs, and at least 100000.", "n", 0);
PARAM_INT_IN("epochs", "Passes over the data.", "E", 0);
PARAM_DOUBLE_IN("tolerance", "Stop when an epoch changes the objective by less "
    "than this; negative to never stop early.", "e", 1e-5);
PARAM_STRING_IN("update", "Update rule: 'sgd', 'momentum' or 'adam'.", "u",
    "sgd");
PARAM_STRING_IN("topology", "Which ranks exchange gradients: 'auto' (by the "
    "machines that they run on), 'complete', 'ring', 'exponential', 'tree:K', "
    "'mesh:RxC', 'graph:0-1,1-2,...' or 'file:PATH'.",
    "g", "auto");
PARAM_STRING_IN("overlap", "Exchange gradients in a thread while others are "
    "computed: 'auto' (if each has a core, and ranks relay for others or the "
    "model has 16 MB or more on several machines), 'always' or 'never'.", "",
    "auto");
PARAM_DOUBLE_IN("exchange_share", "Share of its time that a process may spend "
    "on exchanging gradients; where that costs more, it sums up to 8 gradients "
    "and sends them together.  With 1 it never waits to send.", "", 0.1);
PARAM_STRING_IN("staleness_damping", "Shorter steps where gradients are "
    "stale: a step whose gradient is S updates old is multiplied by this "
    "number divided by 1 + S, if that is below 1.  'auto' is 3, or 6 where "
    "--look_ahead is in use; 0 is off.", "", "auto");
PARAM_STRING_IN("look_ahead", "With several processes, momentum and the mean "
    "of Adam look ahead by so many rounds, to where the model will be when "
    "their update is applied; 'auto' is by staleness, 0 is off.", "", "auto");
PARAM_STRING_IN("wire_format", "Encoding of updates: 'exact', 'float32', "
    "'bfloat16' or 'topk:FRACTION'.  The short ones round, and send the "
    "rounding error later.", "", "exact");
PARAM_STRING_IN("sharing", "Division of work: 'static' gives every rank an "
    "equal share, 'dynamic' lets fast ranks do more.", "", "static");
PARAM_INT_IN("ranks", "Processes to train with; the program starts them "
    "itself.  Omit it under mpirun.", "R", 1);
PARAM_STRING_IN("hostfile", "Machines to start processes on, one in a line: "
    "'name slots=4' (Open MPI) or 'name:4' (MPICH).  Without --ranks all slots "
    "are used.", "", "");
PARAM_FLAG("elastic", "Continue with more or fewer processes when --hostfile, "
    "--ranks_file or what --ranks_command prints changes, and after a process "
    "dies; needs --checkpoint_file.", "");
PARAM_STRING_IN("ranks_file", "With --elastic: file that holds the number of "
    "processes to train with.", "", "");
PARAM_STRING_IN("ranks_command", "With --elastic: shell command that prints "
    "the number of processes, or machines as in --hostfile; it is run again "
    "every few seconds.", "", "");
PARAM_INT_IN("min_ranks", "With --elastic: wait while there are fewer "
    "processes to train with.", "", 1);
PARAM_INT_IN("max_ranks", "With --elastic: train with at most so many "
    "processes; 0 for no limit.", "", 0);
PARAM_INT_IN("threads", "Threads per process for linear algebra.  More than 1 "
    "helps only with very large layers.  OMP_NUM_THREADS and the like take "
    "precedence.", "", 1);
PARAM_FLAG("sharded", "Every rank reads its own training data; '{rank}' in a "
    "file name stands for its number, from 0.", "");
PARAM_INT_IN("seed", "Random seed for initial weights and the order of points; "
    "0 uses the time.", "", 0);
PARAM_FLAG("progress", "Show progress on the terminal while training.", "");
PARAM_STRING_IN("checkpoint_file", "Saves training state here; if the file "
    "exists, training resumes from it, with any number of ranks.", "", "");
PARAM_DOUBLE_IN("checkpoint_every", "Seconds between checkpoints.", "", 60);
PARAM_FLAG("restart", "Start over even if there is a checkpoint, and replace "
    "it.", "");
PARAM_INT_IN("restarts", "Times to restart all ranks from the checkpoint after "
    "one of them dies; needs --ranks.", "", 0);
PARAM_STRING_IN("report_file", "Saves a report of the training here, as JSON.",
    "", "");
PARAM_STRING_IN("trace_file", "Saves a timeline of the training here, for "
    "Perfetto or chrome://tracing.", "", "");
PARAM_STRING_IN("history_file", "Saves all events of the training here, for "
    "dasgd_history.", "", "");

#endif
