"""Session hooks."""

from tfdistribute.engine.hooks.best_weights import BestWeights
from tfdistribute.engine.hooks.callbacks import CallFunctions, ShowTensors
from tfdistribute.engine.hooks.profiling import ProfileSteps
from tfdistribute.engine.hooks.recording import (
    NoteMissingDevices,
    RecordTraining,
    ReportBatches,
    StopOnRequest,
)
from tfdistribute.engine.hooks.savers import SaveElsewhere, SaveSummaries
from tfdistribute.engine.hooks.stops import StopAtStep, StopOnDecision, StopOnNan, WaitForStep
