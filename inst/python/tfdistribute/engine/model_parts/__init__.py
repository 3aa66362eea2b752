"""One model on several devices: logical devices, gradients beside their operations, pipelines."""

from tfdistribute.engine.model_parts.assignment import (
    NoteUnusedDevices,
    logical_device,
    logical_devices,
    model_scope,
)
from tfdistribute.engine.model_parts.pipelines import pipeline
from tfdistribute.engine.model_parts.variables import adopt
