"""One of two processes that train with PyTorch's DistributedDataParallel over gloo."""

from __future__ import annotations

import time

import torch
from data import GLOBAL_BATCH, HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
rank, batch = torch.distributed.get_rank(), GLOBAL_BATCH // 2
x, y = torch.from_numpy(X[rank::2].copy()), torch.from_numpy(Y[rank::2].copy()).unsqueeze(1)
layers: list[torch.nn.Module] = []
for inputs, units in zip((WIDTH, *HIDDEN), HIDDEN, strict=False):
    layers += [torch.nn.Linear(inputs, units), torch.nn.ReLU()]
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(*layers, torch.nn.Linear(HIDDEN[-1], 1))
)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.001)
loss_of = torch.nn.MSELoss()


def train(count: int) -> None:
    for _ in range(count):
        rows = torch.randint(ROWS // 2, (batch,))
        optimizer.zero_grad()
        loss_of(model(x[rows]), y[rows]).backward()
        optimizer.step()


def measure(steps: int) -> float:
    train(5)
    started = time.perf_counter()
    train(steps)
    return steps * batch / (time.perf_counter() - started)


take_turns(measure, warm_up=5)
torch.distributed.destroy_process_group()
