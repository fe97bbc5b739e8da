// The results of a call: values, errors, cancelled or put off.
#pragma once
#include "types/refs.h"

namespace reactor {

// Stores the results of a call that has ended in its objects; if storing one raises, the exception is stored in its place. Steals nothing. Shared by
// serve and Completion. False: storing raised SystemExit, which is the current Python error and ends the process or the actor; those results that
// come before that one are stored.
// `note`: what is known of the method's results, or null.
bool store_results(const Off* results, uint32_t n, PyObject* value, PyObject* name, MethodNote* note = nullptr,
                   bool given = false);  // given: nobody else has the value
bool store_gathered(const Off* results, PyObject* value, PyObject* name);  // of a dynamic call
// Sets the error of a call that returned `value`, with `found` results and not `wanted` ones; -1: no generator, where one is expected.
void refuse_results(int64_t found, int64_t wanted, PyObject* value);
// Takes the current Python exception; `dependency`: it is that of an argument, the call was not made. False: as above.
bool store_failure(const Off* results, uint32_t n, PyObject* name, bool dependency = false);
void finish_results(const Off* results, const uint32_t* notes, uint32_t n, uint32_t task_note = kNoEntry);
bool breaks_off();  // inline: a signal to the driver has raised the current Python error, which is noted for the caller of the running call
bool was_cancelled(const Off* results, uint32_t n);
bool failed_itself();
void forget_stored(const Off* results, uint32_t n);
uint32_t take_retry(Message* m);  // uses up one; gives how many there were

}  // namespace reactor
