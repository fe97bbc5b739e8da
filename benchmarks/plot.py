"""Plots of results, as PNG."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

COLOURS = {"ray": "#d95f02", "rayshim": "#1b9e77"}


def _moving_average(values, width):
    return np.convolve(values, np.ones(width) / width, mode="valid")


def learning(sides, runs, path):
    """The demo's plot: loss and reward by round, and where each side's time went."""
    figure, (losses, rewards, times) = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
    for order, side in enumerate(sides):
        learnt = runs[side.name]["learnt"]
        # Equal curves cover each other, so the one below is drawn wider.
        style = {"color": COLOURS[side.name], "label": side.title}
        style |= {"linewidth": 1.2} if order else {"linewidth": 4, "alpha": 0.5}
        rounds = np.arange(1, len(learnt["losses"]) + 1)
        losses.plot(rounds, learnt["losses"], **style)
        width = max(1, len(rounds) // 20)
        rewards.plot(rounds[width - 1 :], _moving_average(learnt["rewards"], width), **style)
    losses.set(title="Loss", xlabel="round", ylabel="mean squared error", yscale="log")
    rewards.set(title=f"Mean episode reward ({width} rounds' average)", xlabel="round")
    losses.legend()

    left = np.zeros(len(sides))
    titles = [side.title for side in sides]
    longest = max(run["wall"] for run in runs.values())
    for part, name, shade in (("start_up", "start-up", 0.35), ("training", "training", 1.0), ("leaving", "exit", 0.6)):
        seconds = np.array([runs[side.name][part] for side in sides])
        bars = times.barh(titles, seconds, left=left, color=[COLOURS[side.name] for side in sides], alpha=shade)
        labels = [f"{name}\n{value:.1f} s" if value > 0.12 * longest else "" for value in seconds]
        times.bar_label(bars, labels=labels, label_type="center", fontsize=8)
        left += seconds
    for row, side in enumerate(sides):
        times.text(left[row], row, f" {runs[side.name]['wall']:.1f} s", va="center")
    times.set(title="Time", xlabel="seconds")
    times.set_xlim(0, 1.15 * longest)
    times.invert_yaxis()
    figure.savefig(path, dpi=130)
    plt.close(figure)


# The sides that are drawn beside each other, in this order, with colours that stay the same from plot to plot.
_DRAWN = {
    "ray": "#d95f02",
    "ray-idiomatic": "#e6ab02",
    "ray-compiled": "#a6761d",
    "rayshim": "#1b9e77",
    "rayshim-idiomatic": "#66a61e",
    "rayshim-packed": "#7570b3",
    "rayshim-no-plans": "#80cdc1",
    "rayshim-inline": "#bdbdbd",
    "AsyncVectorEnv": "#e7298a",
    "SyncVectorEnv": "#f4a6cd",
    "SubprocVecEnv": "#9e1f63",
    "PufferLib": "#386cb0",
    "EnvPool": "#80b1d3",
    "processes": "#555555",
    "bare": "#999999",
    "limit": "#000000",
}


def heads(found, path):
    """The plot of a workload's JSON: lines over its axis on logarithmic scales, or a group of bars for each case."""
    (lines if found["axis"] else bars)(found, path)


def _costs(found):
    """{competitor's name: (title, [(case, cost)])}, of those that have any."""
    costs = {}
    for case in found["cases"]:
        for row in case["rows"]:
            if row["cost"] is not None:
                costs.setdefault(row["name"], (row["title"], []))[1].append((case, row["cost"]))
    return {name: costs[name] for name in [*_DRAWN, *(set(costs) - set(_DRAWN))] if name in costs}


def lines(found, path):
    """Cost over the number that the cases differ by, both logarithmic."""
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, (title, costs) in _costs(found).items():
        places = [case["options"][found["axis"]] for case, _ in costs]
        style = {"linestyle": "--"} if name in ("bare", "limit") else {"marker": "o", "markersize": 4}
        axes.plot(places, [cost for _, cost in costs], color=_DRAWN.get(name), label=title, **style)
    axes.set(
        title=found["title"],
        xlabel=_AXES.get(found["axis"], found["axis"]),
        ylabel="seconds",
        xscale="log",
        yscale="log",
    )
    _finish(figure, axes, path)


_AXES = {"actors": "actors", "size": "bytes"}


def bars(found, path):
    """Cost, or work a second, of every competitor, case beside case, on a logarithmic scale."""
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    costs = _costs(found)
    titles = [case["title"] for case in found["cases"]]
    height = 0.8 / max(len(costs), 1)
    for number, (name, (title, of_cases)) in enumerate(costs.items()):
        values = [1 / cost if found["unit"] else cost for _, cost in of_cases]
        places = [titles.index(case["title"]) + (number + 0.5) * height for case, _ in of_cases]
        axes.barh(places, values, height=0.9 * height, color=_DRAWN.get(name), label=title)
    axes.set_yticks([number + 0.4 for number in range(len(titles))], titles)
    axes.invert_yaxis()
    axes.set(title=found["title"], xlabel=f"{found['unit']} a second" if found["unit"] else "seconds", xscale="log")
    _finish(figure, axes, path)


def _finish(figure, axes, path):
    axes.title.set_fontsize(10)
    axes.title.set_wrap(True)
    axes.grid(alpha=0.3, which="major")
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=130)
    plt.close(figure)
