"""Direct tensors (Ray Direct Transport), the callers' side: transports, collective groups, and methods with `tensor_transport`."""
