"""Assignment of GPUs to tasks and actors."""


class GpuShares:
    """The machine's GPUs, numbered from 0, assigned as whole GPUs or as shares of one."""

    def __init__(self, count):
        self._free = {gpu: 1.0 for gpu in range(int(count))}

    def take(self, amount):
        """[(number, share)] with the sum `amount`: whole GPUs, and one share for a fraction. Fewer if there are not enough."""
        taken = []
        while amount > 1e-9:
            share = min(1.0, amount)
            gpu = next((gpu for gpu, free in self._free.items() if free >= share - 1e-9), None)
            if gpu is None:
                break
            self._free[gpu] -= share
            taken.append((gpu, share))
            amount -= share
        return taken

    def give(self, taken):
        for gpu, share in taken:
            self._free[gpu] += share
