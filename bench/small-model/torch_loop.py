"""PyTorch at its fastest on this model: one thread, a fused optimizer, batches gathered from a tensor."""

from __future__ import annotations

import time

import torch
from data import BATCH, HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

torch.set_num_threads(1)
x, y = torch.from_numpy(X), torch.from_numpy(Y).float().unsqueeze(1)
layers: list[torch.nn.Module] = []
for inputs, units in zip((WIDTH, *HIDDEN), HIDDEN, strict=False):
    layers += [torch.nn.Linear(inputs, units), torch.nn.ReLU()]
model = torch.nn.Sequential(*layers, torch.nn.Linear(HIDDEN[-1], 1))
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.001, fused=True)
loss_of = torch.nn.BCEWithLogitsLoss()


def train(steps: int) -> None:
    done = 0
    while done < steps:
        order = torch.randperm(ROWS)
        for first in range(0, ROWS - BATCH + 1, BATCH):
            rows = order[first : first + BATCH]
            loss = loss_of(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            if done == steps:
                return


def measure(steps: int) -> float:
    started = time.perf_counter()
    train(steps)
    return steps * BATCH / (time.perf_counter() - started)


take_turns(measure, warm_up=50)
