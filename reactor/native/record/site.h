/* The running Python frame's position, cheaply. */
#pragma once
#include <Python.h>
#ifdef __cplusplus
extern "C" {
#endif
/* The innermost Python frame outside of reactor_own_directory: its code (borrowed, NULL without one) and a number that tells
   the place in it. */
void reactor_call_site(PyCodeObject** code, int* instruction);
void reactor_own_directory(const char* path);
int reactor_site_line(PyCodeObject* code, int instruction);
#ifdef __cplusplus
}
#endif
