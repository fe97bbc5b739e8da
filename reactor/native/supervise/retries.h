// Tasks that are run again after a pause: the supervisor has them until then (runtime/supervisor/delayed_tasks.py).
//
// From a worker that died it takes them in reap(). A worker whose task has failed gives it away, so that it can run others, and the task's
// resources are free:
//
//   the results are Pending again, their notes are gone           killed here: the block is noted as a Task, which a dead worker has left
//   Proc::put_offs += 1                                           likewise
//   the block's note: Task -> PutOff                              killed here: the supervisor takes the task from the note
//   control message with the task and the number Proc::put_offs   killed here: it has got the message, and takes nothing from the note
//   the note is forgotten
//
// The supervisor may read the message after it has settled the death, or before. So it compares numbers: a note is nothing new if a message with the
// process's present number has been read, and a message is nothing new if the note was taken with its number.
#pragma once
#include "supervise/supervisor.h"

namespace reactor {

// The tasks that the last reap() has left to be run again later.
extern std::vector<Off> put_off;
// The number with which it has taken one of them from a note, or 0.
extern uint32_t put_off_serial;
void run_again(Off task);  // or, if its submitter has ended meanwhile, fails it (orphans.h)

}  // namespace reactor
