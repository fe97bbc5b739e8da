/* The running Python frame's position, cheaply. */
#pragma once
#include <Python.h>
#ifdef __cplusplus
extern "C" {
#endif
/* The innermost Python frame's code (borrowed, NULL without one) and a number that tells the place in it; `skip`: of the
   frame that many calls further out. */
void reactor_call_site(PyCodeObject** code, int* instruction, int skip);
int reactor_site_line(PyCodeObject* code, int instruction);
#ifdef __cplusplus
}
#endif
