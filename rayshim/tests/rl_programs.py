"""Programs as they are written in reinforcement learning, small: each a function of the API that gives what it has computed."""

import numpy as np


def q_learning(ray, rounds=6):
    """Synchronous: rollouts, a barrier, an update."""

    @ray.remote
    class Rollout:
        def __init__(self, seed):
            self.rng = np.random.default_rng(seed)

        def sample(self, q):
            s, a = self.rng.integers(5, size=20), self.rng.integers(2, size=20)
            return s, a, q[s, a] * 0.9 + (s == a)

    workers = [Rollout.remote(k) for k in range(4)]
    q = np.zeros((5, 2))
    for _ in range(rounds):
        for s, a, target in ray.get([w.sample.remote(ray.put(q)) for w in workers]):
            q = q.copy()
            q[s, a] += 0.1 * (target - q[s, a])
    return q


def parameter_server(ray, rounds=5):
    """Workers that push to a server by themselves, all at the same time."""

    @ray.remote
    class Server:
        def __init__(self):
            self.w = np.ones(8)

        def push(self, gradient):
            self.w = self.w * 0.9 + gradient

        def pull(self):
            return self.w

    @ray.remote
    class Worker:
        def __init__(self, server, k):
            self.server, self.k = server, k

        def step(self, w):
            self.server.push.remote(np.sin(w * self.k))

    server = Server.remote()
    workers = [Worker.remote(server, k) for k in range(4)]
    for _ in range(rounds):
        w = server.pull.remote()
        ray.get([worker.step.remote(w) for worker in workers])
    return ray.get(server.pull.remote())


def actor_critic(ray, steps=12):
    """A3C-like: whoever is there first is given the newest weights and goes on."""

    @ray.remote
    class Worker:
        def __init__(self, k):
            self.k = k

        def gradient(self, w):
            return np.cos(w + self.k)

    workers = [Worker.remote(k) for k in range(4)]
    w, pending, order = np.zeros(4), {}, []
    for k, worker in enumerate(workers):
        pending[worker.gradient.remote(w)] = k
    for _ in range(steps):
        ready, _ = ray.wait(list(pending), num_returns=1)
        k = pending.pop(ready[0])
        order.append(k)
        w = w * 0.9 + ray.get(ready[0]) / (k + 1)
        pending[workers[k].gradient.remote(w)] = k
    return w, order


def pipeline(ray, items=8):
    """Stages that hold handles of the next, and send on by themselves."""

    @ray.remote
    class Stage:
        def __init__(self, k, after):
            self.k, self.after, self.seen = k, after, []

        def push(self, x):
            self.seen.append(x)
            if self.after is not None:
                self.after.push.remote(x * 2 + self.k)

        def log(self):
            return self.seen

    stages = [None]
    for k in range(4):
        stages.append(Stage.remote(k, stages[-1]))
    for x in range(items):
        stages[-1].push.remote(x)
    return ray.get([stage.log.remote() for stage in stages[1:]])


def tree_of_tasks(ray, depth=3):
    """Tasks in tasks, which all tell one actor of themselves."""

    @ray.remote
    class Log:
        def __init__(self):
            self.seen = []

        def tell(self, path):
            self.seen.append(path)

        def all(self):
            return self.seen

    @ray.remote
    def node(log, path, depth):
        log.tell.remote(path)
        children = [node.remote(log, f"{path}.{k}", depth - 1) for k in range(2)] if depth else []
        total = 1 + sum(ray.get(children))
        log.tell.remote(f"{path} done")
        return total

    log = Log.remote()
    total = ray.get(node.remote(log, "r", depth))
    return total, ray.get(log.all.remote())


def population(ray, generations=4):
    """Population-based training: members copy weights from better ones, through handles of each other."""

    @ray.remote
    class Member:
        def __init__(self, k):
            self.rng, self.w = np.random.default_rng(k), np.full(3, float(k))

        def train(self):
            self.w = self.w + self.rng.normal(size=3)
            return float(-np.abs(self.w - 2).sum())

        def weights(self):
            return self.w

        def exploit(self, better):
            self.w = ray.get(better.weights.remote()) * 1.01

    members = [Member.remote(k) for k in range(6)]
    for _ in range(generations):
        scores = ray.get([m.train.remote() for m in members])
        ranked = np.argsort(scores)
        ray.get([members[i].exploit.remote(members[j]) for i, j in zip(ranked[:3], ranked[3:], strict=True)])
    return ray.get([m.weights.remote() for m in members])


def replay_buffer(ray, rounds=4):
    """Many writers, one reader that samples from what lies there."""

    @ray.remote
    class Buffer:
        def __init__(self):
            self.items, self.rng = [], np.random.default_rng(0)

        def add(self, item):
            self.items.append(item)

        def sample(self, n):
            return [self.items[i] for i in self.rng.integers(len(self.items), size=n)]

    @ray.remote
    def collect(buffer, k, r):
        for i in range(3):
            buffer.add.remote((r, k, i))

    @ray.remote
    class Learner:
        def __init__(self, buffer):
            self.buffer, self.seen = buffer, []

        def learn(self):
            self.seen += ray.get(self.buffer.sample.remote(5))
            return len(self.seen)

        def all(self):
            return self.seen

    buffer = Buffer.remote()
    learner = Learner.remote(buffer)
    for r in range(rounds):
        for k in range(5):
            collect.remote(buffer, k, r)
        learner.learn.remote()
    return ray.get(learner.all.remote())


ALL = [q_learning, parameter_server, actor_critic, pipeline, tree_of_tasks, population, replay_buffer]
ORDER_MATTERS = [parameter_server, actor_critic, pipeline, tree_of_tasks, population, replay_buffer]
