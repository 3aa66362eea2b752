"""LightGBM, XGBoost, CatBoost, ydf, scikit-learn and RealMLP with their defaults: peers.py KIND DIRECTORY SEED.

``PEERS_THREADS`` sets their threads, 1 by default.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import ydf
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier, XGBRegressor

THREADS = int(os.environ.get("PEERS_THREADS", "1"))


def main(kind: str, directory: Path, seed: int) -> None:
    train, test = (pd.read_csv(directory / f"{part}.csv") for part in ("train", "test"))
    levels = json.loads((directory / "levels.json").read_text())
    response, *features = list(train)
    texts = [name for name in features if not pd.api.types.is_numeric_dtype(train[name])]
    for name in texts:
        kinds = pd.CategoricalDtype(sorted(train[name].dropna().unique()))
        train[name], test[name] = train[name].astype(kinds), test[name].astype(kinds)
    if kind == "realmlp":
        # It refuses missing numbers.
        train, test = (frame.fillna(train.median(numeric_only=True)) for frame in (train, test))
    if kind.startswith(("catboost", "ydf")):
        # They refuse missing texts.
        for frame in (train, test):
            frame[texts] = frame[texts].astype(object).fillna("")
    target = train[response]
    if levels:
        target = target.astype(str).map({level: code for code, level in enumerate(levels)})
    elif kind == "sklearn_mlp":
        center, spread = target.mean(), target.std()
        target = (target - center) / spread
    if kind.startswith("ydf"):
        rows = train[features].assign(__target=target)
        found = grow(kind, bool(levels), seed, rows, test[features])
    else:
        model = make(kind, bool(levels), seed, texts, features).fit(train[features], target)
        found = model.predict_proba(test[features]) if levels else model.predict(test[features])
    if not levels and kind == "sklearn_mlp":
        found = found * spread + center
    np.savetxt(directory / "predicted.csv", found, delimiter=",")


def grow(kind: str, classes: bool, seed: int, train: Any, test: Any) -> Any:
    settings: dict[str, Any] = {"num_threads": THREADS, "random_seed": seed, "label": "__target"}
    if kind == "ydf_rank1":
        settings |= ydf.GradientBoostedTreesLearner.hyperparameter_templates()["benchmark_rank1v1"]
    task = ydf.Task.CLASSIFICATION if classes else ydf.Task.REGRESSION
    model = ydf.GradientBoostedTreesLearner(task=task, **settings).train(train, verbose=0)
    found = model.predict(test)
    if not classes:
        return found
    shares = np.stack([1 - found, found], 1) if found.ndim == 1 else found
    return shares[:, np.argsort([int(each) for each in model.label_classes()])]


def make(kind: str, classes: bool, seed: int, texts: list[str], features: list[str]) -> Any:
    if kind == "lightgbm":
        return (LGBMClassifier if classes else LGBMRegressor)(random_state=seed, n_jobs=THREADS)
    if kind == "xgboost":
        boosting = XGBClassifier if classes else XGBRegressor
        return boosting(random_state=seed, n_jobs=THREADS, enable_categorical=True)
    if kind == "catboost":
        boosting = CatBoostClassifier if classes else CatBoostRegressor
        return boosting(
            random_seed=seed,
            thread_count=THREADS,
            cat_features=texts,
            allow_writing_files=False,
            verbose=0,
        )
    if kind == "sklearn_gbm":
        boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return boosting(random_state=seed, categorical_features="from_dtype")
    if kind == "realmlp":
        # Torch takes seconds to import.
        from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor  # noqa: PLC0415

        network = RealMLP_TD_Classifier if classes else RealMLP_TD_Regressor
        return network(device="cpu", random_state=seed, n_cv=1, n_threads=THREADS)
    numbers = [name for name in features if name not in texts]
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts),
    )
    network = MLPClassifier if classes else MLPRegressor
    return make_pipeline(prepared, network(random_state=seed))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
