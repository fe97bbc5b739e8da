"""Remote functions, actor classes, handles, refs: what a call is made of, in the process that makes it."""
