# Written by `make docs` from the dataclasses in inst/python/tfdistribute. Do not edit.
# fmt: skip file
# nolint start

schema_fields <- list(
  devices.1 = list(anyOf = list(list(type = "null"), list(type = "integer", minimum = 1L, maximum = 1000L), list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?: *(/job:localhost)?(/replica:0)?(/task:0)?/?([Dd][Ee][Vv][Ii][Cc][Ee]:)?[CcGg][Pp][Uu]:[0-9]{1,4} *)$", problem = "`{argument}` does not name a CPU or GPU of this machine: {value}.", remedy = "Write a type and a number, such as \"CPU:0\" or \"GPU:1\".", error = "strategy"))))), minItems = 1L)), expected = "a count from 1 to 1000, names such as \"GPU:0\", or NULL", error = "strategy", default = NULL),
  cross_device.1 = list(anyOf = list(list(enum = c("auto", "nccl", "hierarchical_copy", "one_device"))), expected = "one of \"auto\", \"nccl\", \"hierarchical_copy\", \"one_device\"", default = "auto"),
  devices_per_replica.1 = list(anyOf = list(list(type = "integer", minimum = 1L)), expected = "a whole number of at least 1", default = 1L),
  communication.1 = list(anyOf = list(list(enum = c("auto", "ring", "nccl", "shared_memory"))), expected = "one of \"auto\", \"ring\", \"nccl\", \"shared_memory\"", default = "auto"),
  timeout_s.1 = list(anyOf = list(list(type = "null"), list(type = "number", exclusiveMinimum = 0L)), expected = "a number above 0 or NULL", default = NULL),
  compression.1 = list(anyOf = list(list(enum = c("none", "bfloat16"))), expected = "one of \"none\", \"bfloat16\"", default = "none"),
  rule.1 = list(not = list(properties = list(compression = list(anyOf = list(list(enum = c("bfloat16")))), communication = list(anyOf = list(list(enum = c("nccl", "shared_memory"))))), required = c("compression", "communication")), problem = "`compression = {compression}` is not supported with `communication = {communication}`.", remedy = "Use `communication = \"ring\"`, or `compression = \"none\"`.", error = "argument", argument = "compression"),
  device.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?: *(/job:localhost)?(/replica:0)?(/task:0)?/?([Dd][Ee][Vv][Ii][Cc][Ee]:)?[CcGg][Pp][Uu]:[0-9]{1,4} *)$", problem = "`{argument}` does not name a CPU or GPU of this machine: {value}.", remedy = "Write a type and a number, such as \"CPU:0\" or \"GPU:1\".", error = "strategy")))), expected = "a non-empty string"),
  address.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:local)$", problem = "`{argument}` is {value}, a TPU behind another machine, which would have to read the data of this one.", remedy = "Run R on the TPU VM itself, with `address = \"local\"`.", error = "unsupported")))), expected = "a non-empty string", default = "local"),
  steps_per_run.1 = list(anyOf = list(list(type = "integer", minimum = 1L), list(enum = c("auto"))), expected = "a whole number of at least 1 or \"auto\"", default = "auto"),
  chief.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)(?::([A-Za-z0-9]{0,9}))?)$", problem = "`{argument}` holds {value}, which is not an address.", remedy = "Write \"host:port\" with letters, digits, dots and hyphens, and an IPv6 address in brackets, as in \"[::1]:2222\".", error = "cluster"), list(pattern = "^(?:(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)(:(0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?)?)$", problem = "`{argument}` holds {value}, which has no port from 1 to 65535.", remedy = "Write \"host:port\", such as \"host-a:2222\".", error = "cluster"))))))), expected = "non-empty strings or NULL", default = list()),
  task.1 = list(anyOf = list(list(type = "null"), list()), expected = "a Task or NULL", default = NULL),
  start_timeout_s.1 = list(anyOf = list(list(type = "number", minimum = 1L)), expected = "a number of at least 1", default = 60.0),
  stall_timeout_s.1 = list(anyOf = list(list(type = "number", minimum = 1L)), expected = "a number of at least 1", default = 300.0),
  workers.1 = list(anyOf = list(list(type = "integer", minimum = 1L, maximum = 1000L)), expected = "a whole number from 1 to 1000"),
  ps.1 = list(anyOf = list(list(type = "integer", minimum = 0L, maximum = 1000L)), expected = "a whole number from 0 to 1000", default = 0L),
  evaluator.1 = list(anyOf = list(list(type = "boolean")), expected = "TRUE or FALSE", default = TRUE),
  memory_limit_mb.1 = list(anyOf = list(list(type = "null"), list(type = "number", minimum = 1L)), expected = "a number of at least 1 or NULL", default = NULL),
  restarts.1 = list(anyOf = list(list(type = "integer", minimum = 0L)), expected = "a whole number of at least 0", default = 3L),
  network.1 = list(anyOf = list(list(enum = c("auto", "private", "open"))), expected = "one of \"auto\", \"private\", \"open\"", default = "auto"),
  rule.2 = list(not = list(properties = list(workers = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "integer"))), minItems = 2L))), ps = list(anyOf = list(list(type = "integer", minimum = 1L)))), required = c("workers", "ps")), problem = "`workers` is {workers}, and a training with parameter servers (`ps` = {ps}) has a fixed number of workers.", remedy = "Use one number: the other workers of such a training go on without a lost one.", error = "argument", argument = "workers"),
  image.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511})$", problem = "`{argument}` holds {value}, which a registry does not accept.", remedy = "Write it as in \"registry.example.org/cars:1\".", error = "cluster")))), expected = "a non-empty string"),
  name.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z]([a-z0-9-]{0,38}[a-z0-9])?)$", problem = "`{argument}` holds {value}, which the platform does not accept.", remedy = "Write it as in \"cars\".", error = "cluster")))), expected = "a non-empty string", default = "tfdistribute"),
  environment.1 = list(anyOf = list(list(type = "object", propertyNames = list(type = "string", allOf = list(list(pattern = "^(?:[A-Za-z_][A-Za-z0-9_]*)$", problem = "`{argument}` holds {value}, which is not the name of a variable."))), additionalProperties = list(anyOf = list(list(type = "string", allOf = list(list(pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$", problem = "`{argument}` must be text without line breaks and other control characters, not {value}."))))))), expected = "strings in UTF-8 with different names or NULL", secret = TRUE, default = list()),
  staging.1 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[A-Za-z][A-Za-z0-9+.-]*://[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$", problem = "`{argument}` must be a directory on remote storage, such as \"gs://bucket/jobs\", not {value}.")))), expected = "a non-empty string or NULL", default = NULL),
  service_account.1 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$", problem = "`{argument}` holds {value}, which Kubernetes does not accept.", remedy = "Write it as in \"trainer\".", error = "cluster")))), expected = "a non-empty string or NULL", default = NULL),
  start_timeout_s.2 = list(anyOf = list(list(type = "number", minimum = 1L)), expected = "a number of at least 1", default = 600.0),
  job_kind.1 = list(anyOf = list(list(enum = c("Job", "TrainJob", "TFJob"))), expected = "one of \"Job\", \"TrainJob\", \"TFJob\"", default = "Job"),
  namespace.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$", problem = "`{argument}` holds {value}, which Kubernetes does not accept.", remedy = "Write it as in \"default\".", error = "cluster")))), expected = "a non-empty string", default = "default"),
  queue.1 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$", problem = "`{argument}` holds {value}, which Kubernetes does not accept.", remedy = "Write it as in \"team-queue\".", error = "cluster")))), expected = "a non-empty string or NULL", default = NULL),
  gpus.1 = list(anyOf = list(list(type = "integer", minimum = 0L)), expected = "a whole number of at least 0", default = 0L),
  cpus.1 = list(anyOf = list(list(type = "null"), list(type = "number", minimum = 0.001)), expected = "a number of at least 0.001 or NULL", default = NULL),
  memory.1 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[0-9]+([.][0-9]+)?([KMGTPE]i?|k|m)?)$", problem = "`{argument}` holds {value}, which Kubernetes does not accept.", remedy = "Write it as in \"16Gi\".", error = "cluster")))), expected = "a non-empty string or NULL", default = NULL),
  volumes.1 = list(anyOf = list(list(type = "object", propertyNames = list(type = "string", allOf = list(list(pattern = "^(?:(/[A-Za-z0-9._-]+)+)$", problem = "`{argument}` holds {value}, which Kubernetes does not accept.", remedy = "Write it as in \"/models\".", error = "cluster"))), additionalProperties = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$", problem = "`{argument}` holds {value}, which Kubernetes does not accept.", remedy = "Write it as in \"models-claim\".", error = "cluster"))))))), expected = "strings in UTF-8 with different names or NULL", default = list()),
  secrets.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$", problem = "`{argument}` holds {value}, which Kubernetes does not accept.", remedy = "Write it as in \"storage-key\".", error = "cluster"))))))), expected = "non-empty strings or NULL", default = list()),
  kubectl.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$", problem = "`{argument}` must be text without line breaks and other control characters, not {value}."))))), minItems = 1L)), expected = "non-empty strings", default = c("kubectl")),
  staging.2 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:gs://[a-z0-9][!-~]*)$", problem = "`{argument}` holds {value}, which Vertex AI does not accept.", remedy = "Write it as in \"gs://bucket/jobs\".", error = "cluster")))), expected = "a non-empty string"),
  service_account.2 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[A-Za-z0-9][A-Za-z0-9._@-]{0,251})$", problem = "`{argument}` holds {value}, which Vertex AI does not accept.", remedy = "Write it as in \"trainer@my-project.iam.gserviceaccount.com\".", error = "cluster")))), expected = "a non-empty string or NULL", default = NULL),
  project.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z0-9][a-z0-9:.-]{0,61}[a-z0-9])$", problem = "`{argument}` holds {value}, which Vertex AI does not accept.", remedy = "Write it as in \"my-project\".", error = "cluster")))), expected = "a non-empty string"),
  location.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z]+(-[a-z]+)*[0-9]+)$", problem = "`{argument}` holds {value}, which Vertex AI does not accept.", remedy = "Write it as in \"europe-west4\".", error = "cluster")))), expected = "a non-empty string"),
  machine_type.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[a-z][a-z0-9-]{0,61}[a-z0-9])$", problem = "`{argument}` holds {value}, which Vertex AI does not accept.", remedy = "Write it as in \"n1-standard-8\".", error = "cluster")))), expected = "a non-empty string", default = "n1-standard-8"),
  accelerator.1 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[A-Z][A-Z0-9_]{0,61})$", problem = "`{argument}` holds {value}, which Vertex AI does not accept.", remedy = "Write it as in \"NVIDIA_TESLA_T4\".", error = "cluster")))), expected = "a non-empty string or NULL", default = NULL),
  network.2 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:projects/[0-9]+/global/networks/[a-z0-9-]+)$", problem = "`{argument}` holds {value}, which Vertex AI does not accept.", remedy = "Write it as in \"projects/1/global/networks/a\".", error = "cluster")))), expected = "a non-empty string or NULL", default = NULL),
  workers.2 = list(anyOf = list(list(type = "integer", minimum = 1L, maximum = 1000L), list(type = "array", items = list(anyOf = list(list(type = "integer", minimum = 1L, maximum = 1000L))), minItems = 2L, maxItems = 2L, increasing = "weakly")), expected = "one count, or the fewest and the most workers of at most 1000"),
  rscript.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$", problem = "`{argument}` must be text without line breaks and other control characters, not {value}.")))), expected = "a non-empty string", default = "Rscript"),
  python.1 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$", problem = "`{argument}` must be text without line breaks and other control characters, not {value}.")))), expected = "a non-empty string or NULL", default = NULL),
  libraries.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$", problem = "`{argument}` must be text without line breaks and other control characters, not {value}."))))))), expected = "non-empty strings or NULL", default = list()),
  lease_s.1 = list(anyOf = list(list(type = "number", minimum = 5L)), expected = "a number of at least 5", default = 30.0),
  start_timeout_s.3 = list(anyOf = list(list(type = "number", minimum = 1L)), expected = "a number of at least 1", default = 120.0),
  cpus_per_worker.1 = list(anyOf = list(list(type = "integer", minimum = 1L, maximum = 10000L)), expected = "a whole number from 1 to 10000", default = 1L),
  gpus_per_worker.1 = list(anyOf = list(list(type = "integer", minimum = 0L, maximum = 10000L)), expected = "a whole number from 0 to 10000", default = 0L),
  sc.1 = list(anyOf = list(list()), expected = "a function"),
  partition.1 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[A-Za-z0-9][A-Za-z0-9_.,@-]*)$", problem = "`{argument}` is {value}, which is not a name in Slurm.")))), expected = "a non-empty string or NULL", default = NULL),
  setup.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[^\u0001-\b\u000b-\u001f\u007f-\u009f\u2028\u2029]*)$", problem = "`{argument}` must be text without control characters, not {value}.", remedy = "Write lines with \\n between them."))))))), expected = "non-empty strings or NULL", default = list()),
  stop_signal_s.1 = list(anyOf = list(list(type = "integer", minimum = 10L, maximum = 65535L)), expected = "a whole number from 10 to 65535", default = 120L),
  address.2 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:auto|(ray://)?([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5})$", problem = "`{argument}` is {value}, which is not the address of a Ray cluster.", remedy = "Use \"auto\", \"host:port\" with the port of the head node (6379), or \"ray://host:port\" (10001).")))), expected = "a non-empty string", default = "auto"),
  placement.1 = list(anyOf = list(list(enum = c("pack", "spread", "strict_pack", "strict_spread"))), expected = "one of \"pack\", \"spread\", \"strict_pack\", \"strict_spread\"", default = "pack"),
  hosts.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:([A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)$", problem = "`{argument}` holds {value}, which is not the name of a host.", remedy = "Write \"host\" or \"user@host\" with letters, digits, dots and hyphens; a port belongs into ~/.ssh/config.", error = "cluster"))))), minItems = 1L)), expected = "non-empty strings"),
  host_addresses.1 = list(anyOf = list(list(type = "object", propertyNames = list(type = "string"), additionalProperties = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?))$", problem = "`{argument}` is {value}, which is not an address without a port.", remedy = "Write a name or an IP address, such as c(\"node-a\" = \"10.0.0.1\").", error = "cluster"))))))), expected = "strings in UTF-8 with different names or NULL", default = list()),
  ssh.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$", problem = "`{argument}` must be text without line breaks and other control characters, not {value}."))))), minItems = 1L)), expected = "non-empty strings", default = c("ssh")),
  strategy.1 = list(anyOf = list(list(type = "null"), list(`$ref` = "#/$defs/strategy")), expected = "a strategy or NULL", remedy = "Make one with strategy_mirrored() or another strategy_*() function.", default = NULL),
  model_dir.1 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L)), expected = "a non-empty string or NULL", path = TRUE, default = NULL),
  seed.1 = list(anyOf = list(list(type = "null"), list(type = "integer")), expected = "a whole number or NULL", default = 1L),
  save_summary_steps.1 = list(anyOf = list(list(type = "null"), list(type = "integer", minimum = 0L), list(enum = c("auto"))), expected = "a whole number of at least 0, \"auto\" or NULL", default = "auto"),
  save_checkpoints_steps.1 = list(anyOf = list(list(type = "null"), list(type = "integer", minimum = 0L)), expected = "a whole number of at least 0 or NULL", default = NULL),
  save_checkpoints_secs.1 = list(anyOf = list(list(type = "null"), list(type = "number", minimum = 0L)), expected = "a number of at least 0 or NULL", default = 600.0),
  session_config.1 = list(anyOf = list(list(type = "null"), list(type = "object", propertyNames = list(type = "string"), additionalProperties = list(anyOf = list(list())))), expected = "a named list or NULL", default = NULL),
  keep_checkpoint_max.1 = list(anyOf = list(list(type = "null"), list(type = "integer", minimum = 0L)), expected = "a whole number of at least 0 or NULL", default = 5L),
  keep_checkpoint_every_n_hours.1 = list(anyOf = list(list(type = "number", exclusiveMinimum = 0L)), expected = "a number above 0", default = 10000.0),
  log_step_count_steps.1 = list(anyOf = list(list(type = "null"), list(type = "integer", minimum = 1L), list(enum = c("auto"))), expected = "a whole number of at least 1, \"auto\" or NULL", default = "auto"),
  device_fn.1 = list(anyOf = list(list(type = "null"), list(`function` = TRUE, takes = c("op"), remedy = "Write function(op) and return a device's name.")), expected = "a function of (op) or NULL", default = NULL),
  protocol.1 = list(anyOf = list(list(type = "null"), list(enum = c("grpc", "grpc+verbs"))), expected = "one of \"grpc\", \"grpc+verbs\" or NULL", default = NULL),
  session_creation_timeout_secs.1 = list(anyOf = list(list(type = "number", exclusiveMinimum = 0L)), expected = "a number above 0", default = 7200.0),
  experimental_distribute.1 = list(anyOf = list(list()), expected = "a function", default = NULL),
  cluster.1 = list(anyOf = list(list(type = "null"), list(`$ref` = "#/$defs/cluster")), expected = "a cluster such as local_cluster(2) or NULL", default = NULL),
  precision.1 = list(anyOf = list(list(enum = c("float32", "mixed_bfloat16", "mixed_float16"))), expected = "one of \"float32\", \"mixed_bfloat16\", \"mixed_float16\"", default = "float32"),
  compile.1 = list(anyOf = list(list(type = "boolean"), list(enum = c("auto"))), expected = "TRUE, FALSE or \"auto\"", default = "auto"),
  track.1 = list(anyOf = list(list(type = "null"), list(`$ref` = "#/$defs/tracker")), expected = "track_mlflow() or track_wandb() or NULL", default = NULL),
  rule.3 = list(not = list(properties = list(save_checkpoints_steps = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), save_checkpoints_secs = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("save_checkpoints_steps", "save_checkpoints_secs")), problem = "`save_checkpoints_steps` ({save_checkpoints_steps}) and `save_checkpoints_secs` ({save_checkpoints_secs}) cannot both be given.", remedy = "Leave one of them out.", error = "run_config", argument = "save_checkpoints_steps"),
  rule.4 = list(not = list(properties = list(experimental_distribute = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("experimental_distribute")), problem = "`experimental_distribute` is not supported: it sets the strategies a second time.", remedy = "Use `strategy` and `eval_distribute`.", error = "run_config", argument = "experimental_distribute"),
  rule.5 = list(not = list(properties = list(device_fn = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), strategy = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("device_fn", "strategy")), problem = "`device_fn` places operations, and so does `strategy`.", remedy = "Give one of them.", error = "strategy", argument = "device_fn"),
  rule.6 = list(not = list(properties = list(track = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), cluster = list(properties = list(kind = list(anyOf = list(list(enum = c("kubernetes", "vertex"))))), required = c("kind"))), required = c("track", "cluster")), problem = "`track` does not support a cluster of containers: nothing of this package follows its jobs.", remedy = "Leave `track` out, and log in the containers.", error = "run_config", argument = "track"),
  log_model.1 = list(anyOf = list(list(type = "boolean")), expected = "TRUE or FALSE", default = FALSE),
  mode.1 = list(anyOf = list(list(enum = c("online", "offline"))), expected = "one of \"online\", \"offline\"", default = "online"),
  every_n_steps.1 = list(anyOf = list(list(type = "null"), list(type = "integer", minimum = 1L)), expected = "a whole number of at least 1 or NULL", default = NULL),
  saver.1 = list(anyOf = list(list(type = "null"), list(not = list(anyOf = list(list(type = "null"))), python = TRUE)), expected = "a Python Saver or NULL", default = NULL),
  checkpoint_basename.1 = list(anyOf = list(list(type = "string", minLength = 1L)), expected = "a non-empty string", default = "model.ckpt"),
  scaffold.1 = list(anyOf = list(list(type = "null"), list(not = list(anyOf = list(list(type = "null"))), python = TRUE)), expected = "a Python Scaffold or NULL", default = NULL),
  listeners.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))), python = TRUE))))), expected = "CheckpointSaverListener objects, one or a list, or NULL", default = list()),
  rule.7 = list(not = list(properties = list(every_s = list(anyOf = list(list(type = "null"))), every_n_steps = list(anyOf = list(list(type = "null")))), required = c("every_s", "every_n_steps")), problem = "Neither `every_s` nor `every_n_steps` was given.", remedy = "Give one of them.", error = "argument", argument = "every_s"),
  rule.8 = list(not = list(properties = list(every_s = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), every_n_steps = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("every_s", "every_n_steps")), problem = "`every_s` ({every_s}) and `every_n_steps` ({every_n_steps}) cannot both be given.", remedy = "Leave one of them out.", error = "argument", argument = "every_s"),
  rule.9 = list(not = list(properties = list(saver = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), scaffold = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("saver", "scaffold")), problem = "`saver` ({saver}) and `scaffold` ({scaffold}) cannot both be given.", remedy = "Leave one of them out.", error = "argument", argument = "saver"),
  summary_writer.1 = list(anyOf = list(list(type = "null"), list(not = list(anyOf = list(list(type = "null"))), python = TRUE)), expected = "a Python SummaryWriter or NULL", default = NULL),
  rule.10 = list(not = list(properties = list(every_n_steps = list(anyOf = list(list(type = "null"))), every_s = list(anyOf = list(list(type = "null")))), required = c("every_n_steps", "every_s")), problem = "Neither `every_n_steps` nor `every_s` was given.", remedy = "Give one of them.", error = "argument", argument = "every_n_steps"),
  rule.11 = list(not = list(properties = list(every_n_steps = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), every_s = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("every_n_steps", "every_s")), problem = "`every_n_steps` ({every_n_steps}) and `every_s` ({every_s}) cannot both be given.", remedy = "Leave one of them out.", error = "argument", argument = "every_n_steps"),
  rule.12 = list(not = list(properties = list(scaffold = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), summary_op = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("scaffold", "summary_op")), problem = "`scaffold` ({scaffold}) and `summary_op` ({summary_op}) cannot both be given.", remedy = "Leave one of them out.", error = "argument", argument = "scaffold"),
  begin.1 = list(anyOf = list(list(type = "null"), list(`function` = TRUE, takes = list())), expected = "a function or NULL", default = NULL),
  after_create_session.1 = list(anyOf = list(list(type = "null"), list(`function` = TRUE, takes = c("session", "coord"))), expected = "a function of (session, coord) or NULL", default = NULL),
  before_run.1 = list(anyOf = list(list(type = "null"), list(`function` = TRUE, takes = c("context"))), expected = "a function of (context) or NULL", default = NULL),
  after_run.1 = list(anyOf = list(list(type = "null"), list(`function` = TRUE, takes = c("context", "values"))), expected = "a function of (context, values) or NULL", default = NULL),
  end.1 = list(anyOf = list(list(type = "null"), list(`function` = TRUE, takes = c("session"))), expected = "a function of (session) or NULL", default = NULL),
  seconds.1 = list(anyOf = list(list(type = "null"), list(type = "number")), expected = "a number or NULL", default = NULL),
  wait_until_step.1 = list(anyOf = list(list(type = "integer", minimum = 0L)), expected = "a whole number of at least 0"),
  rule.13 = list(not = list(properties = list(num_steps = list(anyOf = list(list(type = "null"))), last_step = list(anyOf = list(list(type = "null")))), required = c("num_steps", "last_step")), problem = "Neither `num_steps` nor `last_step` was given.", remedy = "Give one of them.", error = "argument", argument = "num_steps"),
  rule.14 = list(not = list(properties = list(num_steps = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), last_step = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("num_steps", "last_step")), problem = "`num_steps` ({num_steps}) and `last_step` ({last_step}) cannot both be given.", remedy = "Leave one of them out.", error = "argument", argument = "num_steps"),
  monitor.1 = list(anyOf = list(list(type = "string", minLength = 1L, allOf = list(list(pattern = "^(?:(?!val_)([^\n]|[\n])*)$", problem = "`{argument}` {value} is a Keras name; metrics of evaluations have no prefix here.", remedy = "Leave \"val_\" out, and use data = \"evaluation\".")))), expected = "a non-empty string", default = "loss"),
  patience_steps.1 = list(anyOf = list(list(type = "integer", minimum = 1L)), expected = "a whole number of at least 1", default = 1000L),
  min_delta.1 = list(anyOf = list(list(type = "number", minimum = 0L)), expected = "a number of at least 0", default = 0.0),
  mode.2 = list(anyOf = list(list(enum = c("auto", "min", "max"))), expected = "one of \"auto\", \"min\", \"max\"", default = "auto"),
  data.1 = list(anyOf = list(list(enum = c("auto", "training", "evaluation"))), expected = "one of \"auto\", \"training\", \"evaluation\"", default = "auto"),
  rule.15 = list(not = list(properties = list(monitor = list(anyOf = list(list(type = "string", not = list(anyOf = list(list(enum = c("loss"))))))), data = list(anyOf = list(list(enum = c("training"))))), required = c("monitor", "data")), problem = "`monitor` must be \"loss\" with `data` = {data}, not {monitor}.", remedy = "Use data = \"evaluation\" for a metric of evaluations.", error = "argument", argument = "monitor"),
  every_n_steps.2 = list(anyOf = list(list(type = "integer", minimum = 1L)), expected = "a whole number of at least 1", default = 10L),
  tensors.1 = list(anyOf = list(list(type = "object", propertyNames = list(type = "string"), additionalProperties = list(anyOf = list(list())))), expected = "a named list"),
  rule.16 = list(not = list(properties = list(every_n_steps = list(anyOf = list(list(type = "null"))), every_s = list(anyOf = list(list(type = "null"))), at_end = list(anyOf = list(list(enum = list(FALSE))))), required = c("every_n_steps", "every_s", "at_end")), problem = "Neither `every_n_steps` nor `every_s` was given.", remedy = "Give one of them.", error = "argument", argument = "every_n_steps"),
  loss_tensor.1 = list(anyOf = list(list()), expected = "a function", default = "loss"),
  input.1 = list(anyOf = list(list(`$ref` = "#/$defs/input")), expected = "a Input"),
  hooks.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list())))), expected = "functions or NULL", default = list()),
  name.2 = list(anyOf = list(list(type = "null"), list(type = "string", minLength = 1L)), expected = "a non-empty string or NULL", default = NULL),
  exporters.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))), python = TRUE))))), expected = "tf.estimator.Exporter objects, one or a list, or NULL", default = list()),
  start_delay_secs.1 = list(anyOf = list(list(type = "integer", minimum = 0L)), expected = "a whole number of at least 0", default = 120L),
  throttle_secs.1 = list(anyOf = list(list(type = "integer", minimum = 0L)), expected = "a whole number of at least 0", default = 600L),
  name.3 = list(anyOf = list(list(type = "string")), expected = "a string"),
  settings.1 = list(anyOf = list(list(type = "object", propertyNames = list(type = "string"), additionalProperties = list(anyOf = list(list())))), expected = "a named list or NULL", default = list()),
  key.1 = list(anyOf = list(list(type = "string", minLength = 1L)), expected = "a non-empty string"),
  vocabulary_list.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "integer"))), minItems = 1L), list(type = "array", items = list(anyOf = list(list(type = "string"))), minItems = 1L)), expected = "strings or whole numbers, such as levels(x)"),
  dtype.1 = list(anyOf = list(list(type = "null"), list(enum = c("string", "int32", "int64"))), expected = "one of \"string\", \"int32\", \"int64\" or NULL", default = NULL),
  default_value.1 = list(anyOf = list(list(type = "null"), list(type = "integer", minimum = -1L)), expected = "a whole number of at least -1 or NULL", default = NULL),
  vocabulary_file.1 = list(anyOf = list(list(type = "string", minLength = 1L)), expected = "a non-empty string", path = TRUE),
  dtype.2 = list(anyOf = list(list(enum = c("string", "int32", "int64"))), expected = "one of \"string\", \"int32\", \"int64\"", default = "string"),
  hash_bucket_size.1 = list(anyOf = list(list(type = "integer", minimum = 2L)), expected = "a whole number of at least 2"),
  num_buckets.1 = list(anyOf = list(list(type = "integer", minimum = 1L)), expected = "a whole number of at least 1"),
  keys.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(`$ref` = "#/$defs/feature_column"), list(type = "string", minLength = 1L))), minItems = 2L)), expected = "at least two names of features or columns"),
  categorical_column.1 = list(anyOf = list(list(`$ref` = "#/$defs/feature_column")), expected = "a feature column"),
  dtype.3 = list(anyOf = list(list(enum = c("float32", "float64", "int32", "int64"))), expected = "one of \"float32\", \"float64\", \"int32\", \"int64\"", default = "float32"),
  combiner.1 = list(anyOf = list(list(enum = c("mean", "sqrtn", "sum"))), expected = "one of \"mean\", \"sqrtn\", \"sum\"", default = "mean"),
  initializer.1 = list(anyOf = list(list(type = "null"), list(`$ref` = "#/$defs/initializer")), expected = "a Initializer or NULL", default = NULL),
  max_norm.1 = list(anyOf = list(list(type = "null"), list(type = "number", minimum = 0L)), expected = "a number of at least 0 or NULL", default = NULL),
  rule.17 = list(not = list(properties = list(ckpt_to_load_from = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), tensor_name_in_ckpt = list(anyOf = list(list(type = "null")))), required = c("ckpt_to_load_from", "tensor_name_in_ckpt")), problem = "`ckpt_to_load_from` was given alone.", remedy = "Give both `ckpt_to_load_from` and `tensor_name_in_ckpt`, or none.", error = "argument", argument = "ckpt_to_load_from"),
  rule.18 = list(not = list(properties = list(tensor_name_in_ckpt = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), ckpt_to_load_from = list(anyOf = list(list(type = "null")))), required = c("tensor_name_in_ckpt", "ckpt_to_load_from")), problem = "`tensor_name_in_ckpt` was given alone.", remedy = "Give both `ckpt_to_load_from` and `tensor_name_in_ckpt`, or none.", error = "argument", argument = "tensor_name_in_ckpt"),
  shape.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "integer", minimum = 1L))), minItems = 1L)), expected = "whole numbers of at least 1", default = list(1L)),
  default_value.2 = list(anyOf = list(list(type = "null"), list(type = "array", items = list(anyOf = list(list(type = "number"))), minItems = 1L)), expected = "numbers or NULL", default = NULL),
  normalizer_fn.1 = list(anyOf = list(list(type = "null"), list(`function` = TRUE)), expected = "a function or NULL", default = NULL),
  scale.1 = list(anyOf = list(list(type = "null"), list(type = "array", items = list(anyOf = list(list(type = "number", exclusiveMinimum = 0L))), minItems = 1L)), expected = "numbers above 0 or NULL", default = NULL),
  rule.19 = list(not = list(properties = list(normalizer_fn = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), center = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("normalizer_fn", "center")), problem = "`normalizer_fn` and `center` cannot both be given.", remedy = "Compute everything in `normalizer_fn`, or leave it out.", error = "argument", argument = "normalizer_fn"),
  rule.20 = list(not = list(properties = list(normalizer_fn = list(anyOf = list(list(not = list(anyOf = list(list(type = "null")))))), scale = list(anyOf = list(list(not = list(anyOf = list(list(type = "null"))))))), required = c("normalizer_fn", "scale")), problem = "`normalizer_fn` and `scale` cannot both be given.", remedy = "Compute everything in `normalizer_fn`, or leave it out.", error = "argument", argument = "normalizer_fn"),
  source_column.1 = list(anyOf = list(list()), expected = "a feature column"),
  boundaries.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "number"))), minItems = 1L, increasing = "strictly")), expected = "increasing numbers"),
  function.1 = list(anyOf = list(list(`function` = TRUE)), expected = "a function"),
  epochs.1 = list(anyOf = list(list(type = "null"), list(type = "integer", minimum = 1L)), expected = "a whole number of at least 1 or NULL", default = 1L),
  features.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string"))))), expected = "strings"),
  response.1 = list(anyOf = list(list(type = "null"), list(type = "string")), expected = "a string or NULL", default = NULL),
  batch_size.1 = list(anyOf = list(list(type = "integer", minimum = 1L)), expected = "a whole number of at least 1", default = 128L),
  shuffle.1 = list(anyOf = list(list(type = "null"), list(type = "boolean"), list(enum = c("auto"))), expected = "TRUE, FALSE, \"auto\" or NULL", default = "auto"),
  seed.2 = list(anyOf = list(list(type = "null"), list(type = "integer")), expected = "a whole number or NULL", default = NULL),
  columns.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list())))), expected = "a Column"),
  paths.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L))), minItems = 1L)), expected = "non-empty strings", path = TRUE),
  features.2 = list(anyOf = list(list(type = "null"), list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L))), minItems = 1L)), expected = "names of columns or NULL", error = "input", default = NULL),
  columns.2 = list(anyOf = list(list(type = "object", propertyNames = list(type = "string"), additionalProperties = list(anyOf = list(list(type = "string", allOf = list(list(pattern = "^(?:(float32|int32|int64|bool|string)(\\[[0-9]+( *, *[0-9]+)*\\])?)$", problem = "`{argument}` is {value}, which is not a dtype.", remedy = "Use one of float32, int32, int64, bool, string, with a shape such as \"float32[28, 28]\" if it has one."))))))), expected = "strings in UTF-8 with different names or NULL", default = list()),
  types.1 = list(anyOf = list(list(type = "object", propertyNames = list(type = "string"), additionalProperties = list(anyOf = list(list(enum = c("float", "integer", "integer64", "string", "logical", "date", "datetime")))))), expected = "a named list of \"float\", \"integer\", \"integer64\", \"string\", \"logical\", \"date\", \"datetime\" or NULL", default = list()),
  on_bad_row.1 = list(anyOf = list(list(enum = c("error", "skip"))), expected = "one of \"error\", \"skip\"", default = "error"),
  delim.1 = list(anyOf = list(list(type = "string", allOf = list(list(pattern = "^(?:[ !#-~\t])$", problem = "`{argument}` must be one ASCII character, and not a quote, not {value}.")))), expected = "a string", default = ","),
  na.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string"))))), expected = "strings", default = c("", "NA")),
  loss_reduction.1 = list(anyOf = list(list(enum = c("sum_over_batch_size", "sum"))), expected = "one of \"sum_over_batch_size\", \"sum\"", default = "sum_over_batch_size"),
  warm_start_from.1 = list(anyOf = list(list(type = "null"), list()), expected = "a WarmStart or NULL", default = NULL),
  standardize_response.1 = list(anyOf = list(list(type = "null"), list(type = "boolean")), expected = "TRUE, FALSE or NULL", default = NULL),
  optimizer.1 = list(anyOf = list(list(`$ref` = "#/$defs/optimizer")), expected = "a Optimizer", default = list(kind = "named", name = "ftrl", settings = list())),
  n_classes.1 = list(anyOf = list(list(type = "integer", minimum = 2L)), expected = "a whole number of at least 2", default = 2L),
  label_vocabulary.1 = list(anyOf = list(list(type = "null"), list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L))), minItems = 1L)), expected = "non-empty strings or NULL", default = NULL),
  linear_feature_columns.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(`$ref` = "#/$defs/feature_column"))))), expected = "feature columns or NULL", default = list()),
  dnn_optimizer.1 = list(anyOf = list(list(`$ref` = "#/$defs/optimizer")), expected = "a Optimizer", default = list(kind = "named", name = "adagrad", settings = list())),
  dnn_hidden_units.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "integer", minimum = 1L))))), expected = "whole numbers of at least 1 or NULL", default = list()),
  dnn_activation_fn.1 = list(anyOf = list(list(enum = c("celu", "crelu", "elu", "exponential", "gelu", "hard_sigmoid", "hardshrink", "hardsigmoid", "hardtanh", "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign", "swish", "tanh", "tanhshrink")), list(`function` = TRUE)), expected = "one of \"celu\", \"crelu\", \"elu\", \"exponential\", \"gelu\", \"hard_sigmoid\", \"hardshrink\", \"hardsigmoid\", \"hardtanh\", \"leaky_relu\", \"linear\", \"log_sigmoid\", \"mish\", \"relu\", \"relu6\", \"selu\", \"sigmoid\", \"silu\", \"softmax\", \"softplus\", \"softshrink\", \"softsign\", \"swish\", \"tanh\", \"tanhshrink\" or a function", default = "relu"),
  dnn_dropout.1 = list(anyOf = list(list(type = "null"), list(type = "number", minimum = 0L, exclusiveMaximum = 1L)), expected = "a number of at least 0 and below 1 or NULL", default = NULL),
  linear_sparse_combiner.1 = list(anyOf = list(list(enum = c("sum", "mean", "sqrtn"))), expected = "one of \"sum\", \"mean\", \"sqrtn\"", default = "sum"),
  hidden_units.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "integer", minimum = 1L))), minItems = 1L)), expected = "whole numbers of at least 1"),
  standardize_response.2 = list(anyOf = list(list(type = "null"), list(type = "boolean")), expected = "TRUE, FALSE or NULL", default = TRUE),
  hidden_units.2 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "integer", minimum = 1L))), minItems = 1L)), expected = "whole numbers of at least 1", default = list(128L, 128L, 128L)),
  dropout.1 = list(anyOf = list(list(type = "number", minimum = 0L, exclusiveMaximum = 1L)), expected = "a number of at least 0 and below 1", default = 0.15),
  weight_decay.1 = list(anyOf = list(list(type = "number", minimum = 0L)), expected = "a number of at least 0", default = 0.02),
  validation.1 = list(anyOf = list(list(type = "number", minimum = 0L, exclusiveMaximum = 1L)), expected = "a number of at least 0 and below 1", default = 0.2),
  new_levels.1 = list(anyOf = list(list(enum = c("error", "ignore"))), expected = "one of \"error\", \"ignore\"", default = "error"),
  loss.1 = list(anyOf = list(list(enum = c("squared_error", "poisson"))), expected = "one of \"squared_error\", \"poisson\"", default = "squared_error"),
  quantiles.1 = list(anyOf = list(list(type = "null"), list(type = "array", items = list(anyOf = list(list(type = "number", exclusiveMinimum = 0L, exclusiveMaximum = 1L))), minItems = 1L, increasing = "strictly")), expected = "increasing numbers above 0 and below 1, or NULL", default = NULL),
  model_class.1 = list(anyOf = list(list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L))))), expected = "non-empty strings or NULL", default = list()),
  matrix_features.1 = list(anyOf = list(list(type = "null"), list(type = "array", items = list(anyOf = list(list(type = "string", minLength = 1L))))), expected = "non-empty strings or NULL", default = NULL)
)

schema_fields_of <- function(...) {
  names <- c(...)
  stats::setNames(unname(schema_fields[names]), names(names))
}

schema <- list()
schema$strategy$central_storage <- list(
  properties = schema_fields_of(devices = "devices.1"),
  rules = schema_fields_of()
)
schema$strategy$mirrored <- list(
  properties = schema_fields_of(devices = "devices.1", cross_device = "cross_device.1", devices_per_replica = "devices_per_replica.1"),
  rules = schema_fields_of()
)
schema$strategy$model_parallel <- list(
  properties = schema_fields_of(devices = "devices.1"),
  rules = schema_fields_of()
)
schema$strategy$multi_worker <- list(
  properties = schema_fields_of(communication = "communication.1", timeout_s = "timeout_s.1", devices_per_replica = "devices_per_replica.1", compression = "compression.1"),
  rules = schema_fields_of("rule.1")
)
schema$strategy$one_device <- list(
  properties = schema_fields_of(device = "device.1"),
  rules = schema_fields_of()
)
schema$strategy$parameter_server <- list(
  properties = schema_fields_of(),
  rules = schema_fields_of()
)
schema$strategy$tpu <- list(
  properties = schema_fields_of(address = "address.1", steps_per_run = "steps_per_run.1"),
  rules = schema_fields_of()
)
schema$cluster$addresses <- list(
  properties = schema_fields_of(chief = "chief.1", worker = "chief.1", ps = "chief.1", evaluator = "chief.1", task = "task.1", start_timeout_s = "start_timeout_s.1", stall_timeout_s = "stall_timeout_s.1"),
  rules = schema_fields_of()
)
schema$cluster$local <- list(
  properties = schema_fields_of(workers = "workers.1", ps = "ps.1", evaluator = "evaluator.1", devices_per_worker = "devices_per_replica.1", memory_limit_mb = "memory_limit_mb.1", start_timeout_s = "start_timeout_s.1", stall_timeout_s = "stall_timeout_s.1", restarts = "restarts.1", network = "network.1"),
  rules = schema_fields_of("rule.2")
)
schema$cluster$kubernetes <- list(
  properties = schema_fields_of(workers = "workers.1", ps = "ps.1", evaluator = "evaluator.1", image = "image.1", name = "name.1", environment = "environment.1", staging = "staging.1", service_account = "service_account.1", time_limit_s = "memory_limit_mb.1", start_timeout_s = "start_timeout_s.2", stall_timeout_s = "stall_timeout_s.1", job_kind = "job_kind.1", namespace = "namespace.1", queue = "queue.1", gpus = "gpus.1", cpus = "cpus.1", memory = "memory.1", volumes = "volumes.1", secrets = "secrets.1", restarts = "restarts.1", kubectl = "kubectl.1"),
  rules = schema_fields_of("rule.2")
)
schema$cluster$vertex <- list(
  properties = schema_fields_of(workers = "workers.1", ps = "ps.1", evaluator = "evaluator.1", image = "image.1", name = "name.1", environment = "environment.1", staging = "staging.2", service_account = "service_account.2", time_limit_s = "memory_limit_mb.1", start_timeout_s = "start_timeout_s.2", stall_timeout_s = "stall_timeout_s.1", project = "project.1", location = "location.1", machine_type = "machine_type.1", accelerator = "accelerator.1", accelerators = "devices_per_replica.1", network = "network.2", restarts = "evaluator.1"),
  rules = schema_fields_of("rule.2")
)
schema$cluster$spark <- list(
  properties = schema_fields_of(workers = "workers.2", ps = "ps.1", evaluator = "evaluator.1", rscript = "rscript.1", python = "python.1", libraries = "libraries.1", environment = "environment.1", lease_s = "lease_s.1", start_timeout_s = "start_timeout_s.3", stall_timeout_s = "stall_timeout_s.1", restarts = "restarts.1", cpus_per_worker = "cpus_per_worker.1", gpus_per_worker = "gpus_per_worker.1", sc = "sc.1"),
  rules = schema_fields_of("rule.2")
)
schema$cluster$slurm <- list(
  properties = schema_fields_of(workers = "workers.1", ps = "ps.1", evaluator = "evaluator.1", devices_per_worker = "devices_per_replica.1", rscript = "rscript.1", python = "python.1", libraries = "libraries.1", environment = "environment.1", lease_s = "lease_s.1", start_timeout_s = "start_timeout_s.3", stall_timeout_s = "stall_timeout_s.1", restarts = "restarts.1", nodes = "workers.1", time_limit = "python.1", partition = "partition.1", account = "partition.1", options = "libraries.1", setup = "setup.1", stop_signal_s = "stop_signal_s.1", requeue = "evaluator.1"),
  rules = schema_fields_of("rule.2")
)
schema$cluster$ray <- list(
  properties = schema_fields_of(workers = "workers.2", ps = "ps.1", evaluator = "evaluator.1", rscript = "rscript.1", python = "python.1", libraries = "libraries.1", environment = "environment.1", lease_s = "lease_s.1", start_timeout_s = "start_timeout_s.3", stall_timeout_s = "stall_timeout_s.1", restarts = "restarts.1", cpus_per_worker = "cpus_per_worker.1", gpus_per_worker = "gpus_per_worker.1", address = "address.2", placement = "placement.1"),
  rules = schema_fields_of("rule.2")
)
schema$cluster$mirai <- list(
  properties = schema_fields_of(workers = "workers.1", ps = "ps.1", evaluator = "evaluator.1", rscript = "rscript.1", python = "python.1", libraries = "libraries.1", environment = "environment.1", lease_s = "lease_s.1", start_timeout_s = "start_timeout_s.3", stall_timeout_s = "stall_timeout_s.1", restarts = "restarts.1", cpus_per_worker = "cpus_per_worker.1", gpus_per_worker = "gpus_per_worker.1", profile = "python.1"),
  rules = schema_fields_of("rule.2")
)
schema$cluster$ssh <- list(
  properties = schema_fields_of(workers = "workers.2", ps = "ps.1", evaluator = "evaluator.1", devices_per_worker = "devices_per_replica.1", rscript = "rscript.1", python = "python.1", libraries = "libraries.1", environment = "environment.1", lease_s = "lease_s.1", start_timeout_s = "start_timeout_s.3", stall_timeout_s = "stall_timeout_s.1", restarts = "restarts.1", hosts = "hosts.1", host_addresses = "host_addresses.1", ssh = "ssh.1"),
  rules = schema_fields_of("rule.2")
)
schema$run_config <- list(
  properties = schema_fields_of(strategy = "strategy.1", eval_distribute = "strategy.1", model_dir = "model_dir.1", seed = "seed.1", save_summary_steps = "save_summary_steps.1", save_checkpoints_steps = "save_checkpoints_steps.1", save_checkpoints_secs = "save_checkpoints_secs.1", session_config = "session_config.1", keep_checkpoint_max = "keep_checkpoint_max.1", keep_checkpoint_every_n_hours = "keep_checkpoint_every_n_hours.1", log_step_count_steps = "log_step_count_steps.1", device_fn = "device_fn.1", protocol = "protocol.1", session_creation_timeout_secs = "session_creation_timeout_secs.1", experimental_distribute = "experimental_distribute.1", experimental_max_worker_delay_secs = "save_checkpoints_steps.1", checkpoint_save_graph_def = "evaluator.1", cluster = "cluster.1", steps_per_run = "steps_per_run.1", precision = "precision.1", micro_batches = "devices_per_replica.1", compile = "compile.1", track = "track.1"),
  rules = schema_fields_of("rule.3", "rule.4", "rule.5", "rule.6")
)
schema$tracker$mlflow <- list(
  properties = schema_fields_of(run_name = "python.1", log_model = "log_model.1", experiment = "python.1", tracking_uri = "python.1"),
  rules = schema_fields_of()
)
schema$tracker$wandb <- list(
  properties = schema_fields_of(run_name = "python.1", log_model = "log_model.1", project = "python.1", entity = "python.1", mode = "mode.1"),
  rules = schema_fields_of()
)
schema$hook$checkpoint_saver <- list(
  properties = schema_fields_of(checkpoint_dir = "model_dir.1", every_s = "timeout_s.1", every_n_steps = "every_n_steps.1", saver = "saver.1", checkpoint_basename = "checkpoint_basename.1", scaffold = "scaffold.1", listeners = "listeners.1"),
  rules = schema_fields_of("rule.7", "rule.8", "rule.9")
)
schema$hook$summary_saver <- list(
  properties = schema_fields_of(every_n_steps = "every_n_steps.1", every_s = "timeout_s.1", output_dir = "model_dir.1", summary_writer = "summary_writer.1", scaffold = "scaffold.1", summary_op = "experimental_distribute.1"),
  rules = schema_fields_of("rule.10", "rule.11", "rule.12")
)
schema$hook$step_counter <- list(
  properties = schema_fields_of(every_n_steps = "every_n_steps.1", every_s = "timeout_s.1", output_dir = "model_dir.1", summary_writer = "summary_writer.1"),
  rules = schema_fields_of("rule.10", "rule.11")
)
schema$hook$session_run <- list(
  properties = schema_fields_of(begin = "begin.1", after_create_session = "after_create_session.1", before_run = "before_run.1", after_run = "after_run.1", end = "end.1", every_n_steps = "every_n_steps.1"),
  rules = schema_fields_of()
)
schema$hook$step_cost <- list(
  properties = schema_fields_of(seconds = "seconds.1"),
  rules = schema_fields_of()
)
schema$hook$global_step_waiter <- list(
  properties = schema_fields_of(wait_until_step = "wait_until_step.1"),
  rules = schema_fields_of()
)
schema$hook$stop_at_step <- list(
  properties = schema_fields_of(num_steps = "every_n_steps.1", last_step = "every_n_steps.1"),
  rules = schema_fields_of("rule.13", "rule.14")
)
schema$hook$early_stopping <- list(
  properties = schema_fields_of(monitor = "monitor.1", patience_steps = "patience_steps.1", min_delta = "min_delta.1", mode = "mode.2", data = "data.1", min_steps = "gpus.1", every_n_steps = "every_n_steps.1", every_s = "timeout_s.1", restore_best_weights = "log_model.1"),
  rules = schema_fields_of("rule.15", "rule.11")
)
schema$hook$history_saver <- list(
  properties = schema_fields_of(every_n_steps = "every_n_steps.2"),
  rules = schema_fields_of()
)
schema$hook$progress_bar <- list(
  properties = schema_fields_of(),
  rules = schema_fields_of()
)
schema$hook$view_metrics <- list(
  properties = schema_fields_of(),
  rules = schema_fields_of()
)
schema$hook$logging_tensor <- list(
  properties = schema_fields_of(tensors = "tensors.1", every_n_steps = "every_n_steps.1", every_s = "timeout_s.1", at_end = "log_model.1"),
  rules = schema_fields_of("rule.16", "rule.11")
)
schema$hook$nan_tensor <- list(
  properties = schema_fields_of(loss_tensor = "loss_tensor.1", fail_on_nan_loss = "evaluator.1"),
  rules = schema_fields_of()
)
schema$train_spec <- list(
  properties = schema_fields_of(input = "input.1", max_steps = "every_n_steps.1", hooks = "hooks.1"),
  rules = schema_fields_of()
)
schema$eval_spec <- list(
  properties = schema_fields_of(input = "input.1", steps = "every_n_steps.1", name = "name.2", hooks = "hooks.1", exporters = "exporters.1", start_delay_secs = "start_delay_secs.1", throttle_secs = "throttle_secs.1"),
  rules = schema_fields_of()
)
schema$optimizer$named <- list(
  properties = schema_fields_of(name = "name.3", settings = "settings.1"),
  rules = schema_fields_of()
)
schema$optimizer$object <- list(
  properties = schema_fields_of(object = "sc.1"),
  rules = schema_fields_of()
)
schema$optimizer$`function` <- list(
  properties = schema_fields_of(`function` = "sc.1"),
  rules = schema_fields_of()
)
schema$initializer$named <- list(
  properties = schema_fields_of(name = "name.3", settings = "settings.1"),
  rules = schema_fields_of()
)
schema$initializer$`function` <- list(
  properties = schema_fields_of(`function` = "sc.1"),
  rules = schema_fields_of()
)
schema$feature_column$categorical_with_vocabulary_list <- list(
  properties = schema_fields_of(key = "key.1", vocabulary_list = "vocabulary_list.1", dtype = "dtype.1", default_value = "default_value.1", num_oov_buckets = "gpus.1"),
  rules = schema_fields_of()
)
schema$feature_column$categorical_with_vocabulary_file <- list(
  properties = schema_fields_of(key = "key.1", vocabulary_file = "vocabulary_file.1", vocabulary_size = "every_n_steps.1", num_oov_buckets = "gpus.1", default_value = "default_value.1", dtype = "dtype.2"),
  rules = schema_fields_of()
)
schema$feature_column$categorical_with_hash_bucket <- list(
  properties = schema_fields_of(key = "key.1", hash_bucket_size = "hash_bucket_size.1", dtype = "dtype.2"),
  rules = schema_fields_of()
)
schema$feature_column$categorical_with_identity <- list(
  properties = schema_fields_of(key = "key.1", num_buckets = "num_buckets.1", default_value = "save_checkpoints_steps.1"),
  rules = schema_fields_of()
)
schema$feature_column$crossed <- list(
  properties = schema_fields_of(keys = "keys.1", hash_bucket_size = "hash_bucket_size.1", hash_key = "save_checkpoints_steps.1"),
  rules = schema_fields_of()
)
schema$feature_column$categorical_weighted <- list(
  properties = schema_fields_of(categorical_column = "categorical_column.1", weight_feature_key = "key.1", dtype = "dtype.3"),
  rules = schema_fields_of()
)
schema$feature_column$indicator <- list(
  properties = schema_fields_of(categorical_column = "categorical_column.1"),
  rules = schema_fields_of()
)
schema$feature_column$embedding <- list(
  properties = schema_fields_of(categorical_column = "categorical_column.1", dimension = "num_buckets.1", combiner = "combiner.1", initializer = "initializer.1", ckpt_to_load_from = "name.2", tensor_name_in_ckpt = "name.2", max_norm = "max_norm.1", trainable = "evaluator.1"),
  rules = schema_fields_of("rule.17", "rule.18")
)
schema$feature_column$numeric <- list(
  properties = schema_fields_of(key = "key.1", shape = "shape.1", default_value = "default_value.2", dtype = "dtype.3", normalizer_fn = "normalizer_fn.1", center = "default_value.2", scale = "scale.1"),
  rules = schema_fields_of("rule.19", "rule.20")
)
schema$feature_column$bucketized <- list(
  properties = schema_fields_of(source_column = "source_column.1", boundaries = "boundaries.1"),
  rules = schema_fields_of()
)
schema$input$dataset_function <- list(
  properties = schema_fields_of(`function` = "function.1"),
  rules = schema_fields_of()
)
schema$input$generator <- list(
  properties = schema_fields_of(response = "name.2", epochs = "epochs.1"),
  rules = schema_fields_of()
)
schema$input$serialized_dataset <- list(
  properties = schema_fields_of(graph = "name.3", features = "features.1", response = "response.1"),
  rules = schema_fields_of()
)
schema$input$transformed <- list(
  properties = schema_fields_of(source = "input.1", weights = "name.2", transform = "normalizer_fn.1"),
  rules = schema_fields_of()
)
schema$input$in_memory <- list(
  properties = schema_fields_of(response = "name.2", batch_size = "batch_size.1", epochs = "epochs.1", shuffle = "shuffle.1", seed = "seed.2", columns = "columns.1"),
  rules = schema_fields_of()
)
schema$input$mapped <- list(
  properties = schema_fields_of(response = "name.2", batch_size = "batch_size.1", epochs = "epochs.1", shuffle = "shuffle.1", seed = "seed.2", directory = "name.3"),
  rules = schema_fields_of()
)
schema$input$tfrecord <- list(
  properties = schema_fields_of(response = "name.2", batch_size = "batch_size.1", epochs = "epochs.1", shuffle = "shuffle.1", seed = "seed.2", paths = "paths.1", features = "features.2", columns = "columns.2", verify = "evaluator.1"),
  rules = schema_fields_of()
)
schema$input$arrow <- list(
  properties = schema_fields_of(response = "name.2", batch_size = "batch_size.1", epochs = "epochs.1", shuffle = "shuffle.1", seed = "seed.2", paths = "paths.1", features = "features.2", types = "types.1", impute = "settings.1", on_bad_row = "on_bad_row.1"),
  rules = schema_fields_of()
)
schema$input$csv <- list(
  properties = schema_fields_of(response = "name.2", batch_size = "batch_size.1", epochs = "epochs.1", shuffle = "shuffle.1", seed = "seed.2", paths = "paths.1", features = "features.2", types = "types.1", impute = "settings.1", on_bad_row = "on_bad_row.1", delim = "delim.1", na = "na.1"),
  rules = schema_fields_of()
)
schema$input$parquet <- list(
  properties = schema_fields_of(response = "name.2", batch_size = "batch_size.1", epochs = "epochs.1", shuffle = "shuffle.1", seed = "seed.2", paths = "paths.1", features = "features.2", types = "types.1", impute = "settings.1", on_bad_row = "on_bad_row.1"),
  rules = schema_fields_of()
)
schema$estimator$baseline_regressor <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", label_dimension = "devices_per_replica.1", standardize_response = "standardize_response.1", optimizer = "optimizer.1"),
  rules = schema_fields_of()
)
schema$estimator$baseline_classifier <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", n_classes = "n_classes.1", label_vocabulary = "label_vocabulary.1", optimizer = "optimizer.1"),
  rules = schema_fields_of()
)
schema$estimator$dnn_linear_combined_regressor <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", label_dimension = "devices_per_replica.1", standardize_response = "standardize_response.1", linear_feature_columns = "linear_feature_columns.1", linear_optimizer = "optimizer.1", dnn_feature_columns = "linear_feature_columns.1", dnn_optimizer = "dnn_optimizer.1", dnn_hidden_units = "dnn_hidden_units.1", dnn_activation_fn = "dnn_activation_fn.1", dnn_dropout = "dnn_dropout.1", batch_norm = "log_model.1", linear_sparse_combiner = "linear_sparse_combiner.1"),
  rules = schema_fields_of()
)
schema$estimator$dnn_linear_combined_classifier <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", n_classes = "n_classes.1", label_vocabulary = "label_vocabulary.1", linear_feature_columns = "linear_feature_columns.1", linear_optimizer = "optimizer.1", dnn_feature_columns = "linear_feature_columns.1", dnn_optimizer = "dnn_optimizer.1", dnn_hidden_units = "dnn_hidden_units.1", dnn_activation_fn = "dnn_activation_fn.1", dnn_dropout = "dnn_dropout.1", batch_norm = "log_model.1", linear_sparse_combiner = "linear_sparse_combiner.1"),
  rules = schema_fields_of()
)
schema$estimator$dnn_regressor <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", label_dimension = "devices_per_replica.1", standardize_response = "standardize_response.1", hidden_units = "hidden_units.1", feature_columns = "linear_feature_columns.1", optimizer = "dnn_optimizer.1", activation_fn = "dnn_activation_fn.1", dropout = "dnn_dropout.1", batch_norm = "log_model.1"),
  rules = schema_fields_of()
)
schema$estimator$dnn_classifier <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", n_classes = "n_classes.1", label_vocabulary = "label_vocabulary.1", hidden_units = "hidden_units.1", feature_columns = "linear_feature_columns.1", optimizer = "dnn_optimizer.1", activation_fn = "dnn_activation_fn.1", dropout = "dnn_dropout.1", batch_norm = "log_model.1"),
  rules = schema_fields_of()
)
schema$estimator$linear_regressor <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", label_dimension = "devices_per_replica.1", standardize_response = "standardize_response.1", feature_columns = "linear_feature_columns.1", optimizer = "optimizer.1", sparse_combiner = "linear_sparse_combiner.1"),
  rules = schema_fields_of()
)
schema$estimator$linear_classifier <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", n_classes = "n_classes.1", label_vocabulary = "label_vocabulary.1", feature_columns = "linear_feature_columns.1", optimizer = "optimizer.1", sparse_combiner = "linear_sparse_combiner.1"),
  rules = schema_fields_of()
)
schema$estimator$tabular_regressor <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", label_dimension = "devices_per_replica.1", standardize_response = "standardize_response.2", hidden_units = "hidden_units.2", ensemble = "every_n_steps.1", dropout = "dropout.1", weight_decay = "weight_decay.1", learning_rate = "max_norm.1", batch_size = "every_n_steps.1", epochs = "every_n_steps.1", validation = "validation.1", new_levels = "new_levels.1", time_limit_s = "max_norm.1", loss = "loss.1", quantiles = "quantiles.1"),
  rules = schema_fields_of()
)
schema$estimator$tabular_classifier <- list(
  properties = schema_fields_of(model_dir = "key.1", weight_column = "name.2", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", n_classes = "n_classes.1", label_vocabulary = "label_vocabulary.1", hidden_units = "hidden_units.2", ensemble = "every_n_steps.1", dropout = "dropout.1", weight_decay = "weight_decay.1", learning_rate = "max_norm.1", batch_size = "every_n_steps.1", epochs = "every_n_steps.1", validation = "validation.1", new_levels = "new_levels.1", time_limit_s = "max_norm.1"),
  rules = schema_fields_of()
)
schema$estimator$custom <- list(
  properties = schema_fields_of(model_dir = "key.1", model_class = "model_class.1", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", model_fn = "function.1", params = "experimental_distribute.1"),
  rules = schema_fields_of()
)
schema$estimator$keras <- list(
  properties = schema_fields_of(model_dir = "key.1", path = "name.2", `function` = "normalizer_fn.1", custom_objects = "settings.1", matrix_features = "matrix_features.1", weights = "name.2"),
  rules = schema_fields_of()
)
schema$estimator$training_loop <- list(
  properties = schema_fields_of(model_dir = "key.1", model_class = "model_class.1", loss_reduction = "loss_reduction.1", warm_start_from = "warm_start_from.1", build_parts = "function.1", train_step = "function.1", eval_step = "normalizer_fn.1", predict_step = "normalizer_fn.1", params = "experimental_distribute.1"),
  rules = schema_fields_of()
)
schema$estimator$wrapped <- list(
  properties = schema_fields_of(model_dir = "key.1", estimator = "experimental_distribute.1", keeps_config = "evaluator.1", calls_r = "log_model.1"),
  rules = schema_fields_of()
)

# Names that are no fields of their own.
schema_names <- list(
  activations = c("celu", "crelu", "elu", "exponential", "gelu", "hard_sigmoid", "hardshrink", "hardsigmoid", "hardtanh", "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign", "swish", "tanh", "tanhshrink"),
  common_settings = c("learning_rate", "decay", "clipnorm", "clipvalue", "global_clipnorm", "l2_penalty"),
  initializers = c("constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform", "ones", "orthogonal", "random_normal", "random_uniform", "truncated_normal", "variance_scaling", "zeros"),
  optimizers = list(adadelta = c("rho", "epsilon"), adagrad = c("initial_accumulator_value", "epsilon"), adam = c("beta_1", "beta_2", "epsilon", "amsgrad"), adamax = c("beta_1", "beta_2", "epsilon"), ftrl = c("learning_rate_power", "initial_accumulator_value", "l1_regularization_strength", "l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta"), nadam = c("beta_1", "beta_2", "epsilon"), rmsprop = c("rho", "momentum", "epsilon", "centered"), sgd = c("momentum", "nesterov")),
  schedules = c("cosine_decay", "cosine_decay_restarts", "exponential_decay", "inverse_time_decay", "piecewise_constant_decay", "polynomial_decay")
)
# nolint end
