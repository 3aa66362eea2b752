# Written by `make docs` from the dataclasses in inst/python/tfdistribute. Do not edit.
# fmt: skip file
# nolint start

# The fields that each class declares.
declared <- list()
declared$DeviceStrategy <- list(
  devices = list(types = c("null", "integer", "strings"), minimum = 1L, maximum = 1000L, filled = TRUE, expected = "a count from 1 to 1000, names such as \"GPU:0\", or NULL", error = "strategy")
)
declared$Mirrored <- list(
  cross_device = list(types = "choice", choices = c("auto", "nccl", "hierarchical_copy", "one_device"), expected = "one of \"auto\", \"nccl\", \"hierarchical_copy\", \"one_device\""),
  devices_per_replica = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1")
)
declared$MultiWorker <- list(
  communication = list(types = "choice", choices = c("auto", "ring", "nccl", "shared_memory"), expected = "one of \"auto\", \"ring\", \"nccl\", \"shared_memory\""),
  timeout_s = list(types = c("null", "number"), expected = "a number above 0 or NULL"),
  devices_per_replica = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  compression = list(types = "choice", choices = c("none", "bfloat16"), expected = "one of \"none\", \"bfloat16\"")
)
declared$OneDevice <- list(
  device = list(types = "string", filled = TRUE, expected = "a non-empty string")
)
declared$Tpu <- list(
  address = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  steps_per_run = list(types = c("integer", "choice"), minimum = 1L, choices = "auto", expected = "a whole number of at least 1 or \"auto\"")
)
declared$ClusterSpec <- list(
  chief = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  worker = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  ps = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  evaluator = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  task = list(types = c("null", "any"), expected = "a Task or NULL"),
  start_timeout_s = list(types = "number", minimum = 1L, expected = "a number of at least 1"),
  stall_timeout_s = list(types = "number", minimum = 1L, expected = "a number of at least 1")
)
declared$StartedCluster <- list(
  workers = list(types = c("integer", "integers"), minimum = 1L, maximum = 1000L, expected = "a whole number from 1 to 1000 or whole numbers"),
  ps = list(types = "integer", minimum = 0L, maximum = 1000L, expected = "a whole number from 0 to 1000"),
  evaluator = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$LocalCluster <- list(
  workers = list(types = "integer", minimum = 1L, maximum = 1000L, expected = "a whole number from 1 to 1000"),
  devices_per_worker = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  memory_limit_mb = list(types = c("null", "number"), minimum = 1L, expected = "a number of at least 1 or NULL"),
  start_timeout_s = list(types = "number", minimum = 1L, expected = "a number of at least 1"),
  stall_timeout_s = list(types = "number", minimum = 1L, expected = "a number of at least 1"),
  restarts = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0"),
  network = list(types = "choice", choices = c("auto", "private", "open"), expected = "one of \"auto\", \"private\", \"open\"")
)
declared$HostsCluster <- list(
  devices_per_worker = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  rscript = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  python = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  libraries = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  environment = list(types = c("null", "named"), items = list(types = "string"), expected = "strings in UTF-8 with different names or NULL", secret = TRUE),
  lease_s = list(types = "number", minimum = 5L, expected = "a number of at least 5"),
  start_timeout_s = list(types = "number", minimum = 1L, expected = "a number of at least 1"),
  stall_timeout_s = list(types = "number", minimum = 1L, expected = "a number of at least 1"),
  restarts = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0")
)
declared$FrameworkCluster <- list(
  workers = list(types = c("integer", "integers"), minimum = 1L, maximum = 1000L, expected = "one count, or the fewest and the most workers of at most 1000"),
  cpus_per_worker = list(types = "integer", minimum = 1L, maximum = 10000L, expected = "a whole number from 1 to 10000"),
  gpus_per_worker = list(types = "integer", minimum = 0L, maximum = 10000L, expected = "a whole number from 0 to 10000"),
  resize_every_s = list(types = "number", minimum = 1L, expected = "a number of at least 1")
)
declared$SparkCluster <- list(
  sc = list(types = "any", expected = "a function")
)
declared$ManagedCluster <- list(
  workers = list(types = "integer", minimum = 1L, maximum = 1000L, expected = "a whole number from 1 to 1000"),
  image = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  name = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  environment = list(types = c("null", "named"), items = list(types = "string"), expected = "strings in UTF-8 with different names or NULL", secret = TRUE),
  staging = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  service_account = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  time_limit_s = list(types = c("null", "number"), minimum = 1L, expected = "a number of at least 1 or NULL"),
  start_timeout_s = list(types = "number", minimum = 1L, expected = "a number of at least 1"),
  stall_timeout_s = list(types = "number", minimum = 1L, expected = "a number of at least 1")
)
declared$KubernetesCluster <- list(
  service_account = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  job_kind = list(types = "choice", choices = c("Job", "TrainJob", "TFJob"), expected = "one of \"Job\", \"TrainJob\", \"TFJob\""),
  namespace = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  queue = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  gpus = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0"),
  cpus = list(types = c("null", "number"), minimum = 0.001, expected = "a number of at least 0.001 or NULL"),
  memory = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  volumes = list(types = c("null", "named"), items = list(types = "string", filled = TRUE), expected = "strings in UTF-8 with different names or NULL"),
  secrets = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  restarts = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0"),
  kubectl = list(types = "strings", filled = TRUE, expected = "non-empty strings")
)
declared$VertexCluster <- list(
  staging = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  service_account = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  project = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  location = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  machine_type = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  accelerator = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  accelerators = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  network = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  restarts = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$SshCluster <- list(
  workers = list(types = c("integer", "integers"), minimum = 1L, maximum = 1000L, expected = "one count, or the fewest and the most workers of at most 1000"),
  hosts = list(types = "strings", filled = TRUE, expected = "non-empty strings"),
  host_addresses = list(types = c("null", "named"), items = list(types = "string", filled = TRUE), expected = "strings in UTF-8 with different names or NULL"),
  ssh = list(types = "strings", filled = TRUE, expected = "non-empty strings"),
  resize_every_s = list(types = "number", minimum = 1L, expected = "a number of at least 1")
)
declared$MiraiCluster <- list(
  profile = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL")
)
declared$RayCluster <- list(
  address = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  placement = list(types = "choice", choices = c("pack", "spread", "strict_pack", "strict_spread"), expected = "one of \"pack\", \"spread\", \"strict_pack\", \"strict_spread\"")
)
declared$SlurmCluster <- list(
  workers = list(types = "integer", minimum = 1L, maximum = 1000L, expected = "a whole number from 1 to 1000"),
  nodes = list(types = "integer", minimum = 1L, maximum = 1000L, expected = "a whole number from 1 to 1000"),
  time_limit = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  partition = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  account = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  options = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  setup = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  stop_signal_s = list(types = "integer", minimum = 10L, maximum = 65535L, expected = "a whole number from 10 to 65535"),
  requeue = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$RunSettings <- list(
  strategy = list(types = c("null", "description"), family = "strategy", expected = "a strategy or NULL", remedy = "Make one with strategy_mirrored() or another strategy_*() function."),
  eval_distribute = list(types = c("null", "description"), family = "strategy", expected = "a strategy or NULL", remedy = "Make one with strategy_mirrored() or another strategy_*() function."),
  model_dir = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL", path = TRUE),
  seed = list(types = c("null", "integer"), expected = "a whole number or NULL"),
  save_summary_steps = list(types = c("null", "integer", "choice"), minimum = 0L, choices = "auto", expected = "a whole number of at least 0, \"auto\" or NULL"),
  save_checkpoints_steps = list(types = c("null", "integer"), minimum = 0L, expected = "a whole number of at least 0 or NULL"),
  save_checkpoints_secs = list(types = c("null", "number"), minimum = 0L, expected = "a number of at least 0 or NULL"),
  session_config = list(types = c("null", "named"), expected = "a named list or NULL"),
  keep_checkpoint_max = list(types = c("null", "integer"), minimum = 0L, expected = "a whole number of at least 0 or NULL"),
  keep_checkpoint_every_n_hours = list(types = "number", expected = "a number above 0"),
  log_step_count_steps = list(types = c("null", "integer", "choice"), minimum = 1L, choices = "auto", expected = "a whole number of at least 1, \"auto\" or NULL"),
  device_fn = list(types = c("null", "function"), takes = "op", remedy = "Write function(op) and return a device's name.", expected = "a function of (op) or NULL"),
  protocol = list(types = c("null", "choice"), choices = c("grpc", "grpc+verbs"), expected = "one of \"grpc\", \"grpc+verbs\" or NULL"),
  session_creation_timeout_secs = list(types = "number", expected = "a number above 0"),
  experimental_distribute = list(types = "any", expected = "a function"),
  experimental_max_worker_delay_secs = list(types = c("null", "integer"), minimum = 0L, expected = "a whole number of at least 0 or NULL"),
  checkpoint_save_graph_def = list(types = "boolean", expected = "TRUE or FALSE"),
  cluster = list(types = c("null", "description"), family = "cluster", expected = "a cluster such as local_cluster(2) or NULL"),
  steps_per_run = list(types = c("integer", "choice"), minimum = 1L, choices = "auto", expected = "a whole number of at least 1 or \"auto\""),
  precision = list(types = "choice", choices = c("float32", "mixed_bfloat16", "mixed_float16"), expected = "one of \"float32\", \"mixed_bfloat16\", \"mixed_float16\""),
  micro_batches = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  compile = list(types = c("boolean", "choice"), choices = "auto", expected = "TRUE, FALSE or \"auto\""),
  track = list(types = c("null", "description"), family = "tracker", expected = "track_mlflow() or track_wandb() or NULL")
)
declared$Tracker <- list(
  run_name = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  log_model = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$Mlflow <- list(
  experiment = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  tracking_uri = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL")
)
declared$Wandb <- list(
  project = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  entity = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  mode = list(types = "choice", choices = c("online", "offline"), expected = "one of \"online\", \"offline\"")
)
declared$CheckpointSaver <- list(
  checkpoint_dir = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL", path = TRUE),
  every_s = list(types = c("null", "number"), expected = "a number above 0 or NULL"),
  every_n_steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  saver = list(types = c("null", "python"), expected = "a Python Saver or NULL"),
  checkpoint_basename = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  scaffold = list(types = c("null", "python"), expected = "a Python Scaffold or NULL"),
  listeners = list(types = c("null", "list"), items = list(types = "python"), expected = "CheckpointSaverListener objects, one or a list, or NULL")
)
declared$SummarySaver <- list(
  every_n_steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  every_s = list(types = c("null", "number"), expected = "a number above 0 or NULL"),
  output_dir = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL", path = TRUE),
  summary_writer = list(types = c("null", "python"), expected = "a Python SummaryWriter or NULL"),
  scaffold = list(types = c("null", "python"), expected = "a Python Scaffold or NULL"),
  summary_op = list(types = "any", expected = "a function")
)
declared$StepCounter <- list(
  every_n_steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  every_s = list(types = c("null", "number"), expected = "a number above 0 or NULL"),
  output_dir = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL", path = TRUE),
  summary_writer = list(types = c("null", "python"), expected = "a Python SummaryWriter or NULL")
)
declared$Profiler <- list(
  steps = list(types = "integers", minimum = 1L, expected = "the first and the last step, two counts,"),
  output_dir = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL", path = TRUE)
)
declared$SessionRun <- list(
  begin = list(types = c("null", "function"), takes = character(), expected = "a function or NULL"),
  after_create_session = list(types = c("null", "function"), takes = c("session", "coord"), expected = "a function of (session, coord) or NULL"),
  before_run = list(types = c("null", "function"), takes = "context", expected = "a function of (context) or NULL"),
  after_run = list(types = c("null", "function"), takes = c("context", "values"), expected = "a function of (context, values) or NULL"),
  end = list(types = c("null", "function"), takes = "session", expected = "a function of (session) or NULL"),
  every_n_steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL")
)
declared$GlobalStepWaiter <- list(
  wait_until_step = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0")
)
declared$StopAtStep <- list(
  num_steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  last_step = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL")
)
declared$EarlyStopping <- list(
  monitor = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  patience_steps = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  min_delta = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  mode = list(types = "choice", choices = c("auto", "min", "max"), expected = "one of \"auto\", \"min\", \"max\""),
  data = list(types = "choice", choices = c("auto", "training", "evaluation"), expected = "one of \"auto\", \"training\", \"evaluation\""),
  min_steps = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0"),
  every_n_steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  every_s = list(types = c("null", "number"), expected = "a number above 0 or NULL"),
  restore_best_weights = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$HistorySaver <- list(
  every_n_steps = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1")
)
declared$LoggingTensor <- list(
  tensors = list(types = "named", expected = "a named list"),
  every_n_steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  every_s = list(types = c("null", "number"), expected = "a number above 0 or NULL"),
  at_end = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$NanTensor <- list(
  loss_tensor = list(types = "any", expected = "a function"),
  fail_on_nan_loss = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$TrainSpec <- list(
  input = list(types = "description", family = "input", expected = "a Input"),
  max_steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  hooks = list(types = c("null", "list"), expected = "functions or NULL")
)
declared$EvalSpec <- list(
  input = list(types = "description", family = "input", expected = "a Input"),
  steps = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  name = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  hooks = list(types = c("null", "list"), expected = "functions or NULL"),
  exporters = list(types = c("null", "list"), items = list(types = "python"), expected = "tf.estimator.Exporter objects, one or a list, or NULL"),
  start_delay_secs = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0"),
  throttle_secs = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0")
)
declared$NamedOptimizer <- list(
  name = list(types = "string", expected = "a string"),
  settings = list(types = c("null", "named"), expected = "a named list or NULL")
)
declared$OptimizerInstance <- list(
  object = list(types = "any", expected = "a function")
)
declared$OptimizerFunction <- list(
  `function` = list(types = "any", expected = "a function")
)
declared$NamedInitializer <- list(
  name = list(types = "choice", choices = c("constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform", "ones", "orthogonal", "random_normal", "random_uniform", "truncated_normal", "variance_scaling", "zeros"), expected = "one of \"constant\", \"glorot_normal\", \"glorot_uniform\", \"he_normal\", \"he_uniform\", \"lecun_normal\", \"lecun_uniform\", \"ones\", \"orthogonal\", \"random_normal\", \"random_uniform\", \"truncated_normal\", \"variance_scaling\", \"zeros\""),
  settings = list(types = c("null", "named"), expected = "a named list or NULL")
)
declared$InitializerFunction <- list(
  `function` = list(types = "any", expected = "a function")
)
declared$Categorical <- list(
  key = list(types = "string", filled = TRUE, expected = "a non-empty string")
)
declared$VocabularyList <- list(
  vocabulary_list = list(types = c("integers", "strings"), expected = "strings or whole numbers, such as levels(x)"),
  dtype = list(types = c("null", "choice"), choices = c("string", "int32", "int64"), expected = "one of \"string\", \"int32\", \"int64\" or NULL"),
  default_value = list(types = c("null", "integer"), minimum = -1L, expected = "a whole number of at least -1 or NULL"),
  num_oov_buckets = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0")
)
declared$VocabularyFile <- list(
  vocabulary_file = list(types = "string", filled = TRUE, expected = "a non-empty string", path = TRUE, file = TRUE),
  vocabulary_size = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  num_oov_buckets = list(types = "integer", minimum = 0L, expected = "a whole number of at least 0"),
  default_value = list(types = c("null", "integer"), minimum = -1L, expected = "a whole number of at least -1 or NULL"),
  dtype = list(types = "choice", choices = c("string", "int32", "int64"), expected = "one of \"string\", \"int32\", \"int64\"")
)
declared$HashBucket <- list(
  hash_bucket_size = list(types = "integer", minimum = 2L, expected = "a whole number of at least 2"),
  dtype = list(types = "choice", choices = c("string", "int32", "int64"), expected = "one of \"string\", \"int32\", \"int64\"")
)
declared$Identity <- list(
  num_buckets = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  default_value = list(types = c("null", "integer"), minimum = 0L, expected = "a whole number of at least 0 or NULL")
)
declared$Crossed <- list(
  keys = list(types = "list", items = list(types = c("description", "string"), family = "feature_column", filled = TRUE), expected = "at least two names of features or columns"),
  hash_bucket_size = list(types = "integer", minimum = 2L, expected = "a whole number of at least 2"),
  hash_key = list(types = c("null", "integer"), minimum = 0L, expected = "a whole number of at least 0 or NULL")
)
declared$WrapsCategories <- list(
  categorical_column = list(types = "description", family = "feature_column", expected = "a feature column")
)
declared$Weighted <- list(
  weight_feature_key = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  dtype = list(types = "choice", choices = c("float32", "float64", "int32", "int64"), expected = "one of \"float32\", \"float64\", \"int32\", \"int64\"")
)
declared$Embedding <- list(
  dimension = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  combiner = list(types = "choice", choices = c("mean", "sqrtn", "sum"), expected = "one of \"mean\", \"sqrtn\", \"sum\""),
  initializer = list(types = c("null", "description"), family = "initializer", expected = "a Initializer or NULL"),
  ckpt_to_load_from = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  tensor_name_in_ckpt = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  max_norm = list(types = c("null", "number"), minimum = 0L, expected = "a number of at least 0 or NULL"),
  trainable = list(types = "boolean", expected = "TRUE or FALSE"),
  shared = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL")
)
declared$Numeric <- list(
  key = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  shape = list(types = "integers", minimum = 1L, expected = "whole numbers of at least 1"),
  default_value = list(types = c("null", "numbers"), expected = "numbers or NULL"),
  dtype = list(types = "choice", choices = c("float32", "float64", "int32", "int64"), expected = "one of \"float32\", \"float64\", \"int32\", \"int64\""),
  normalizer_fn = list(types = c("null", "function"), expected = "a function or NULL"),
  center = list(types = c("null", "numbers"), expected = "numbers or NULL"),
  scale = list(types = c("null", "numbers"), expected = "numbers above 0 or NULL")
)
declared$Bucketized <- list(
  source_column = list(types = "any", expected = "a column_numeric()"),
  boundaries = list(types = "numbers", expected = "increasing numbers")
)
declared$DatasetFunction <- list(
  `function` = list(types = "function", expected = "a function")
)
declared$Generator <- list(
  response = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  epochs = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL")
)
declared$SerializedDataset <- list(
  graph = list(types = "string", expected = "a string"),
  features = list(types = "strings", expected = "strings"),
  response = list(types = c("null", "string"), expected = "a string or NULL")
)
declared$Transformed <- list(
  source = list(types = "description", family = "input", expected = "a Input"),
  weights = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  transform = list(types = c("null", "function"), expected = "a function or NULL")
)
declared$RowInput <- list(
  response = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  batch_size = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  epochs = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  shuffle = list(types = c("null", "boolean", "choice"), choices = "auto", expected = "TRUE, FALSE, \"auto\" or NULL"),
  seed = list(types = c("null", "integer"), expected = "a whole number or NULL")
)
declared$InMemory <- list(
  columns = list(types = "list", expected = "a Column")
)
declared$Mapped <- list(
  directory = list(types = "string", expected = "a string")
)
declared$FileInput <- list(
  paths = list(types = "strings", filled = TRUE, expected = "non-empty strings", path = TRUE),
  features = list(types = c("null", "strings"), filled = TRUE, expected = "names of columns or NULL", error = "input")
)
declared$TFRecord <- list(
  columns = list(types = c("null", "named"), items = list(types = "string"), expected = "strings in UTF-8 with different names or NULL"),
  verify = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$TableInput <- list(
  types = list(types = c("null", "named"), items = list(types = "choice", choices = c("float", "integer", "integer64", "string", "logical", "date", "datetime")), expected = "a named list of \"float\", \"integer\", \"integer64\", \"string\", \"logical\", \"date\", \"datetime\" or NULL"),
  impute = list(types = c("null", "named"), expected = "a named list or NULL"),
  on_bad_row = list(types = "choice", choices = c("error", "skip"), expected = "one of \"error\", \"skip\"")
)
declared$Csv <- list(
  delim = list(types = "string", expected = "a string"),
  na = list(types = "strings", expected = "strings")
)
declared$Model <- list(
  model_dir = list(types = "string", filled = TRUE, expected = "a non-empty string")
)
declared$Canned <- list(
  weight_column = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL"),
  loss_reduction = list(types = "choice", choices = c("sum_over_batch_size", "sum"), expected = "one of \"sum_over_batch_size\", \"sum\""),
  warm_start_from = list(types = c("null", "any"), expected = "a WarmStart or NULL")
)
declared$Regressor <- list(
  label_dimension = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  standardize_response = list(types = c("null", "boolean"), expected = "TRUE, FALSE or NULL")
)
declared$Baseline <- list(
  optimizer = list(types = "description", family = "optimizer", expected = "a Optimizer")
)
declared$Classifier <- list(
  n_classes = list(types = "integer", minimum = 2L, expected = "a whole number of at least 2"),
  label_vocabulary = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL")
)
declared$Combined <- list(
  linear_feature_columns = list(types = c("null", "list"), items = list(types = "description", family = "feature_column"), expected = "feature columns or NULL"),
  linear_optimizer = list(types = "description", family = "optimizer", expected = "a Optimizer"),
  dnn_feature_columns = list(types = c("null", "list"), items = list(types = "description", family = "feature_column"), expected = "feature columns or NULL"),
  dnn_optimizer = list(types = "description", family = "optimizer", expected = "a Optimizer"),
  dnn_hidden_units = list(types = c("null", "integers"), minimum = 1L, expected = "whole numbers of at least 1 or NULL"),
  dnn_activation_fn = list(types = c("choice", "function"), choices = c("celu", "crelu", "elu", "exponential", "gelu", "hard_sigmoid", "hardshrink", "hardsigmoid", "hardtanh", "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign", "swish", "tanh", "tanhshrink"), expected = "one of \"celu\", \"crelu\", \"elu\", \"exponential\", \"gelu\", \"hard_sigmoid\", \"hardshrink\", \"hardsigmoid\", \"hardtanh\", \"leaky_relu\", \"linear\", \"log_sigmoid\", \"mish\", \"relu\", \"relu6\", \"selu\", \"sigmoid\", \"silu\", \"softmax\", \"softplus\", \"softshrink\", \"softsign\", \"swish\", \"tanh\", \"tanhshrink\" or a function"),
  dnn_dropout = list(types = c("null", "number"), minimum = 0L, expected = "a number of at least 0 and below 1 or NULL"),
  batch_norm = list(types = "boolean", expected = "TRUE or FALSE"),
  linear_sparse_combiner = list(types = "choice", choices = c("sum", "mean", "sqrtn"), expected = "one of \"sum\", \"mean\", \"sqrtn\"")
)
declared$Deep <- list(
  hidden_units = list(types = "integers", minimum = 1L, expected = "whole numbers of at least 1"),
  feature_columns = list(types = c("null", "list"), items = list(types = "description", family = "feature_column"), expected = "feature columns or NULL"),
  optimizer = list(types = "description", family = "optimizer", expected = "a Optimizer"),
  activation_fn = list(types = c("choice", "function"), choices = c("celu", "crelu", "elu", "exponential", "gelu", "hard_sigmoid", "hardshrink", "hardsigmoid", "hardtanh", "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign", "swish", "tanh", "tanhshrink"), expected = "one of \"celu\", \"crelu\", \"elu\", \"exponential\", \"gelu\", \"hard_sigmoid\", \"hardshrink\", \"hardsigmoid\", \"hardtanh\", \"leaky_relu\", \"linear\", \"log_sigmoid\", \"mish\", \"relu\", \"relu6\", \"selu\", \"sigmoid\", \"silu\", \"softmax\", \"softplus\", \"softshrink\", \"softsign\", \"swish\", \"tanh\", \"tanhshrink\" or a function"),
  dropout = list(types = c("null", "number"), minimum = 0L, expected = "a number of at least 0 and below 1 or NULL"),
  batch_norm = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$Linear <- list(
  feature_columns = list(types = c("null", "list"), items = list(types = "description", family = "feature_column"), expected = "feature columns or NULL"),
  optimizer = list(types = "description", family = "optimizer", expected = "a Optimizer"),
  sparse_combiner = list(types = "choice", choices = c("sum", "mean", "sqrtn"), expected = "one of \"sum\", \"mean\", \"sqrtn\"")
)
declared$Learned <- list(
  new_levels = list(types = "choice", choices = c("warn", "error", "ignore"), expected = "one of \"warn\", \"error\", \"ignore\"")
)
declared$LearnedRegressor <- list(
  standardize_response = list(types = c("null", "boolean"), expected = "TRUE, FALSE or NULL"),
  loss = list(types = "choice", choices = c("squared_error", "poisson"), expected = "one of \"squared_error\", \"poisson\"")
)
declared$Tabular <- list(
  hidden_units = list(types = "integers", minimum = 1L, expected = "whole numbers of at least 1"),
  ensemble = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  dropout = list(types = "number", minimum = 0L, expected = "a number of at least 0 and below 1"),
  weight_decay = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  learning_rate = list(types = c("null", "number"), minimum = 0L, expected = "a number of at least 0 or NULL"),
  batch_size = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  epochs = list(types = c("null", "integer"), minimum = 1L, expected = "a whole number of at least 1 or NULL"),
  validation = list(types = "number", minimum = 0L, expected = "a number of at least 0 and below 1"),
  parts = list(types = "strings", filled = TRUE, expected = "some of \"linear\", \"layers\" and \"trees\""),
  time_limit_s = list(types = c("null", "number"), minimum = 0L, expected = "a number of at least 0 or NULL")
)
declared$TabularRegressor <- list(
  quantiles = list(types = c("null", "numbers"), expected = "increasing numbers above 0 and below 1, or NULL"),
  clip = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$Trees <- list(
  feature_columns = list(types = c("null", "list"), items = list(types = "description", family = "feature_column"), expected = "feature columns or NULL"),
  n_trees = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  max_depth = list(types = "integer", minimum = 1L, expected = "a whole number of at least 1"),
  learning_rate = list(types = "number", expected = "a number above 0"),
  l1_regularization = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  l2_regularization = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  tree_complexity = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  min_node_weight = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  validation = list(types = "number", minimum = 0L, expected = "a number of at least 0 and below 1"),
  splits = list(types = "choice", choices = c("axis", "oblique"), expected = "one of \"axis\", \"oblique\""),
  increasing = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  decreasing = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL")
)
declared$BoostedTreesClassifier <- list(
  class_weights = list(types = c("null", "named"), items = list(types = "number", minimum = 0L), expected = "numbers of at least 0 with different names, or NULL")
)
declared$FunctionModel <- list(
  model_class = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  loss_reduction = list(types = "choice", choices = c("sum_over_batch_size", "sum"), expected = "one of \"sum_over_batch_size\", \"sum\""),
  warm_start_from = list(types = c("null", "any"), expected = "a WarmStart or NULL")
)
declared$Custom <- list(
  model_fn = list(types = "function", expected = "a function"),
  params = list(types = "any", expected = "a function")
)
declared$KerasModel <- list(
  path = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL", file = TRUE),
  `function` = list(types = c("null", "function"), expected = "a function or NULL"),
  custom_objects = list(types = c("null", "named"), expected = "a named list or NULL"),
  matrix_features = list(types = c("null", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  weights = list(types = c("null", "string"), filled = TRUE, expected = "a non-empty string or NULL")
)
declared$TrainingLoop <- list(
  build_parts = list(types = "function", expected = "a function"),
  train_step = list(types = "function", expected = "a function"),
  eval_step = list(types = c("null", "function"), expected = "a function or NULL"),
  predict_step = list(types = c("null", "function"), expected = "a function or NULL"),
  params = list(types = "any", expected = "a function")
)
declared$Wrapped <- list(
  estimator = list(types = "any", expected = "a function"),
  keeps_config = list(types = "boolean", expected = "TRUE or FALSE"),
  calls_r = list(types = "boolean", expected = "TRUE or FALSE")
)
declared$WarmStart <- list(
  ckpt_to_initialize_from = list(types = "string", filled = TRUE, expected = "a non-empty string"),
  vars_to_warm_start = list(types = c("string", "strings"), filled = TRUE, expected = "non-empty strings or NULL"),
  var_name_to_prev_var_name = list(types = c("null", "named"), items = list(types = "string"), expected = "names in the checkpoint, named by this model's, or NULL")
)

fields_of <- function(...) {
  fields <- list()
  for (own in declared[c(...)]) fields[names(own)] <- own
  fields
}
schema <- list()
schema$strategy$central_storage <- fields_of("DeviceStrategy")
schema$strategy$mirrored <- fields_of("DeviceStrategy", "Mirrored")
schema$strategy$model_parallel <- fields_of("DeviceStrategy")
schema$strategy$multi_worker <- fields_of("MultiWorker")
schema$strategy$one_device <- fields_of("OneDevice")
schema$strategy$parameter_server <- fields_of()
schema$strategy$tpu <- fields_of("Tpu")
schema$cluster$addresses <- fields_of("ClusterSpec")
schema$cluster$local <- fields_of("StartedCluster", "LocalCluster")
schema$cluster$spark <- fields_of("StartedCluster", "HostsCluster", "FrameworkCluster", "SparkCluster")
schema$cluster$kubernetes <- fields_of("StartedCluster", "ManagedCluster", "KubernetesCluster")
schema$cluster$vertex <- fields_of("StartedCluster", "ManagedCluster", "VertexCluster")
schema$cluster$ssh <- fields_of("StartedCluster", "HostsCluster", "SshCluster")
schema$cluster$mirai <- fields_of("StartedCluster", "HostsCluster", "FrameworkCluster", "MiraiCluster")
schema$cluster$ray <- fields_of("StartedCluster", "HostsCluster", "FrameworkCluster", "RayCluster")
schema$cluster$slurm <- fields_of("StartedCluster", "HostsCluster", "SlurmCluster")
schema$run_config <- fields_of("RunSettings")
schema$tracker$mlflow <- fields_of("Tracker", "Mlflow")
schema$tracker$wandb <- fields_of("Tracker", "Wandb")
schema$hook$checkpoint_saver <- fields_of("CheckpointSaver")
schema$hook$summary_saver <- fields_of("SummarySaver")
schema$hook$step_counter <- fields_of("StepCounter")
schema$hook$profiler <- fields_of("Profiler")
schema$hook$session_run <- fields_of("SessionRun")
schema$hook$global_step_waiter <- fields_of("GlobalStepWaiter")
schema$hook$stop_at_step <- fields_of("StopAtStep")
schema$hook$early_stopping <- fields_of("EarlyStopping")
schema$hook$history_saver <- fields_of("HistorySaver")
schema$hook$progress_bar <- fields_of()
schema$hook$view_metrics <- fields_of()
schema$hook$logging_tensor <- fields_of("LoggingTensor")
schema$hook$nan_tensor <- fields_of("NanTensor")
schema$train_spec <- fields_of("TrainSpec")
schema$eval_spec <- fields_of("EvalSpec")
schema$optimizer$named <- fields_of("NamedOptimizer")
schema$optimizer$object <- fields_of("OptimizerInstance")
schema$optimizer$`function` <- fields_of("OptimizerFunction")
schema$initializer$named <- fields_of("NamedInitializer")
schema$initializer$`function` <- fields_of("InitializerFunction")
schema$feature_column$categorical_with_vocabulary_list <- fields_of("Categorical", "VocabularyList")
schema$feature_column$categorical_with_vocabulary_file <- fields_of("Categorical", "VocabularyFile")
schema$feature_column$categorical_with_hash_bucket <- fields_of("Categorical", "HashBucket")
schema$feature_column$categorical_with_identity <- fields_of("Categorical", "Identity")
schema$feature_column$crossed <- fields_of("Crossed")
schema$feature_column$categorical_weighted <- fields_of("WrapsCategories", "Weighted")
schema$feature_column$indicator <- fields_of("WrapsCategories")
schema$feature_column$embedding <- fields_of("WrapsCategories", "Embedding")
schema$feature_column$numeric <- fields_of("Numeric")
schema$feature_column$bucketized <- fields_of("Bucketized")
schema$input$dataset_function <- fields_of("DatasetFunction")
schema$input$generator <- fields_of("Generator")
schema$input$serialized_dataset <- fields_of("SerializedDataset")
schema$input$transformed <- fields_of("Transformed")
schema$input$in_memory <- fields_of("RowInput", "InMemory")
schema$input$mapped <- fields_of("RowInput", "Mapped")
schema$input$tfrecord <- fields_of("RowInput", "FileInput", "TFRecord")
schema$input$arrow <- fields_of("RowInput", "FileInput", "TableInput")
schema$input$csv <- fields_of("RowInput", "FileInput", "TableInput", "Csv")
schema$input$parquet <- fields_of("RowInput", "FileInput", "TableInput")
schema$estimator$baseline_regressor <- fields_of("Model", "Canned", "Regressor", "Baseline")
schema$estimator$baseline_classifier <- fields_of("Model", "Canned", "Classifier", "Baseline")
schema$estimator$dnn_linear_combined_regressor <- fields_of("Model", "Canned", "Regressor", "Combined")
schema$estimator$dnn_linear_combined_classifier <- fields_of("Model", "Canned", "Classifier", "Combined")
schema$estimator$dnn_regressor <- fields_of("Model", "Canned", "Regressor", "Deep")
schema$estimator$dnn_classifier <- fields_of("Model", "Canned", "Classifier", "Deep")
schema$estimator$linear_regressor <- fields_of("Model", "Canned", "Regressor", "Linear")
schema$estimator$linear_classifier <- fields_of("Model", "Canned", "Classifier", "Linear")
schema$estimator$tabular_regressor <- fields_of("Model", "Canned", "Regressor", "Learned", "LearnedRegressor", "Tabular", "TabularRegressor")
schema$estimator$tabular_classifier <- fields_of("Model", "Canned", "Classifier", "Learned", "Tabular")
schema$estimator$boosted_trees_regressor <- fields_of("Model", "Canned", "Regressor", "Learned", "LearnedRegressor", "Trees")
schema$estimator$boosted_trees_classifier <- fields_of("Model", "Canned", "Classifier", "Learned", "Trees", "BoostedTreesClassifier")
schema$estimator$custom <- fields_of("Model", "FunctionModel", "Custom")
schema$estimator$keras <- fields_of("Model", "KerasModel")
schema$estimator$training_loop <- fields_of("Model", "FunctionModel", "TrainingLoop")
schema$estimator$wrapped <- fields_of("Model", "Wrapped")
schema$warm_start <- fields_of("WarmStart")

# The settings of optimizers.
settings <- list(
  learning_rate = list(types = c("number", "named"), minimum = 0L, expected = "a number of at least 0, or a list such as list(\"exponential_decay\", ...)"),
  decay = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  clipnorm = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  clipvalue = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  global_clipnorm = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  l2_penalty = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  rho = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  epsilon = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  initial_accumulator_value = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  beta_1 = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  beta_2 = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  amsgrad = list(types = "boolean", expected = "TRUE or FALSE"),
  learning_rate_power = list(types = "number", expected = "a number"),
  l1_regularization_strength = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  l2_regularization_strength = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  l2_shrinkage_regularization_strength = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  beta = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  momentum = list(types = "number", minimum = 0L, expected = "a number of at least 0"),
  centered = list(types = "boolean", expected = "TRUE or FALSE"),
  nesterov = list(types = "boolean", expected = "TRUE or FALSE")
)
schema$optimizer_settings$adadelta <- settings[c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty", "rho", "epsilon")]
schema$optimizer_settings$adagrad <- settings[c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty", "initial_accumulator_value", "epsilon")]
schema$optimizer_settings$adam <- settings[c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty", "beta_1", "beta_2", "epsilon", "amsgrad")]
schema$optimizer_settings$adamax <- settings[c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty", "beta_1", "beta_2", "epsilon")]
schema$optimizer_settings$ftrl <- settings[c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty", "learning_rate_power", "initial_accumulator_value", "l1_regularization_strength", "l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta")]
schema$optimizer_settings$nadam <- settings[c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty", "beta_1", "beta_2", "epsilon")]
schema$optimizer_settings$rmsprop <- settings[c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty", "rho", "momentum", "epsilon", "centered")]
schema$optimizer_settings$sgd <- settings[c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty", "momentum", "nesterov")]

# Names that are not fields of their own.
schema_names <- list(
  activations = c("celu", "crelu", "elu", "exponential", "gelu", "hard_sigmoid", "hardshrink", "hardsigmoid", "hardtanh", "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign", "swish", "tanh", "tanhshrink"),
  schedules = c("cosine_decay", "cosine_decay_restarts", "exponential_decay", "inverse_time_decay", "piecewise_constant_decay", "polynomial_decay")
)
# nolint end
