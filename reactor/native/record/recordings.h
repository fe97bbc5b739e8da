// Recordings: what a process has learned of its calls, for the report. Each gives its own when it is asked; a worker that ends leaves it behind.
#pragma once
#include "python/nanobind.h"

namespace reactor {

PyObject* recording_data();  // this process's recording and timeline, as a dict
void leave_recording();  // before this process ends: for who asks later
void move_ended();
nanobind::list recordings(double timeout);

}  // namespace reactor
