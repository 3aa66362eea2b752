"""Distribution strategies, one per file."""

from tfdistribute.strategies.central_storage import CentralStorage
from tfdistribute.strategies.description import Strategy
from tfdistribute.strategies.mirrored import Mirrored
from tfdistribute.strategies.model_parallel import ModelParallel
from tfdistribute.strategies.multi_worker import MultiWorker
from tfdistribute.strategies.one_device import OneDevice
from tfdistribute.strategies.parameter_server import ParameterServer
from tfdistribute.strategies.tpu import Tpu
