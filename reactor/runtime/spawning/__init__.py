"""How a zygote and its workers come to their descriptors, their interpreter and their modules."""
