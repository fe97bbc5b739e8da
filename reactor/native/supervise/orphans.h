// Tasks whose submitter has ended: they end, too, waiting ones as well as running ones.
//
// When a submitter ends (calls/submitter.h) that has submitted tasks (Proc::submits), the supervisor
//
//   1  notes it in Header::ended_submitters                                                              [release]
//   2  fence                                                                                             [seq_cst]
//   3  claims its tasks in the queues, as a task worker would, and fails them
//   4  looks for task workers whose hold lists name one of its tasks (runner_of), and ends them
//
// A task that waits for an argument, or is to be run again later, is in no queue. So a task worker that has claimed one of which that was true (kLate)
// looks at 1 before it runs it, after a fence. Was it queued before 3 has looked at its queue, then 3 claims it, or 4 finds it;
// was it queued later, then the two fences make the worker see what 1 has noted. A worker notes a task before it claims it, and 4 comes after
// 3, so a task that 3 finds claimed is found by 4.
//
// The list of 1 is emptied when another submitter ends and no such task is left (Header::late_tasks).
//
// In 4 the supervisor stops the worker before it looks once more, and kills it only if it runs such a task then: the worker may have gone on to another
// submitter's task meanwhile.
#pragma once
#include <vector>
#include "calls/submitter.h"

namespace reactor {

// In a task worker that has claimed the task and noted it. Whether its submitter has ended; its results then say so.
bool end_if_orphaned(Message* m, uint32_t note);

// For the supervisor: 1 to 3. `reason`: what the tasks' results get; `put_off`: there are tasks that wait for run_again().
void submitter_ended(uint64_t ended, Object* reason, bool put_off);

// For 4. Whether a worker runs a task of this submitter, or is about to claim one. The answer is exact while the worker is stopped.
enum class Runs : uint32_t { No = 0, Claims, Runs };
Runs runs_task_of(uint32_t slot, uint64_t ended);
std::vector<uint32_t> runners_of(uint64_t ended);  // the entries of workers for which the answer is not No

}  // namespace reactor
