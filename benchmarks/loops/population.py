"""A population: members train at their own pace, report to a table and copy the best of it; the driver polls the table."""

import time

import ray
from counts import tell

STEPS = 120


@ray.remote
class Table:
    def __init__(self):
        self.scores, self.finished = {}, 0

    def report(self, name, score):
        self.scores[name] = max(score, self.scores.get(name, score))

    def best(self):
        return max(self.scores.items(), key=lambda entry: entry[1], default=(None, 0.0))

    def finish(self):
        self.finished += 1

    def standings(self):
        return self.finished, dict(self.scores)


@ray.remote
class Member:
    def __init__(self, number, table):
        self.number, self.table = number, table

    def train(self):
        score, steps = 0.0, []
        while len(steps) < STEPS:
            time.sleep(0.01 + 0.004 * self.number)
            score += 1.0 / (1 + self.number)
            steps.append(time.monotonic())
            if len(steps) % 5 == 0:
                self.table.report.remote(self.number, score)
                best, score_of_best = ray.get(self.table.best.remote())
                if best is not None and score < 0.7 * score_of_best:
                    score = score_of_best
        ray.get(self.table.finish.remote())
        return steps


ray.init(num_cpus=8)
table = Table.remote()
members = [Member.remote(number, table) for number in range(4)]
ray.get([actor.__ray_ready__.remote() for actor in [table, *members]])
start = time.monotonic()
training = [member.train.remote() for member in members]
looks = []
while ray.get(table.standings.remote())[0] < len(members):
    looks.append(time.monotonic())
    time.sleep(0.05)
tell(start, member=ray.get(training), driver=looks)
