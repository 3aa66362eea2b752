"""Verbs: training, evaluation, prediction and export, in one process or as a task of a cluster."""

from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import (
    as_keras_model,
    export_keras_model,
    export_savedmodel,
)
from tfdistribute.training.history import History, read_history
from tfdistribute.training.model_directory import (
    global_step,
    learned,
    trained_columns,
    trained_facts,
    trained_state,
)
from tfdistribute.training.multi_worker.inference import evaluate_shard, predict_shard
from tfdistribute.training.predict import concatenate, predict
from tfdistribute.training.spark import predict_table
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.tensorflow_errors import translate_errors
from tfdistribute.training.train import distribute, train
from tfdistribute.training.train_and_evaluate import train_and_evaluate
from tfdistribute.training.variables import variable_names, variable_value, weights
