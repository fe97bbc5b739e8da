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
