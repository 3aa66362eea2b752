"""Inputs: sources of examples, read as a ``tf.data.Dataset``."""

from tfdistribute.inputs.description import Input, Purpose
from tfdistribute.inputs.functions.dataset_function import DatasetFunction
from tfdistribute.inputs.functions.generator import Generator
from tfdistribute.inputs.functions.serialized_dataset import SerializedDataset
from tfdistribute.inputs.functions.transformed import Transformed
from tfdistribute.inputs.memory import InMemory, Mapped, write_packed
from tfdistribute.inputs.packed.packing import Column
from tfdistribute.inputs.records.tfrecord import TFRecord
from tfdistribute.inputs.sharding_audit import PipelineAudit, audit_sharding
from tfdistribute.inputs.tables.arrow_file import Arrow
from tfdistribute.inputs.tables.csv_file import Csv
from tfdistribute.inputs.tables.parquet_file import Parquet
from tfdistribute.inputs.writing import write_input
