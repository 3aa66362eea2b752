# Written by `make docs` from the dataclasses in inst/python/tfdistribute. Do not edit.

schema_fields <- list(
  devices.1 = list(
    anyOf = list(
      list(type = "null"),
      list(type = "integer", minimum = 1L, maximum = 1000L),
      list(
        type = "array",
        items = list(
          anyOf = list(list(
            type = "string",
            minLength = 1L,
            allOf = list(list(
              pattern = "^(?: *(/job:localhost)?(/replica:0)?(/task:0)?/?([Dd][Ee][Vv][Ii][Cc][Ee]:)?[CcGg][Pp][Uu]:[0-9]{1,4} *)$",
              problem = "`{argument}` does not name a CPU or GPU of this machine: {value}.",
              remedy = "Write a type and a number, such as \"CPU:0\" or \"GPU:1\".",
              error = "strategy"
            ))
          ))
        ),
        minItems = 1L
      )
    ),
    expected = "a count from 1 to 1000, names such as \"GPU:0\", or NULL",
    error = "strategy",
    default = NULL
  ),
  cross_device.1 = list(
    anyOf = list(list(enum = c("auto", "nccl", "hierarchical_copy", "one_device"))),
    expected = "one of \"auto\", \"nccl\", \"hierarchical_copy\", \"one_device\"",
    default = "auto"
  ),
  devices_per_replica.1 = list(
    anyOf = list(list(type = "integer", minimum = 1L)),
    expected = "a whole number of at least 1",
    default = 1L
  ),
  communication.1 = list(
    anyOf = list(list(enum = c("auto", "ring", "nccl", "shared_memory"))),
    expected = "one of \"auto\", \"ring\", \"nccl\", \"shared_memory\"",
    default = "auto"
  ),
  timeout_s.1 = list(
    anyOf = list(list(type = "null"), list(type = "number", exclusiveMinimum = 0L)),
    expected = "a number above 0 or NULL",
    default = NULL
  ),
  compression.1 = list(
    anyOf = list(list(enum = c("none", "bfloat16"))),
    expected = "one of \"none\", \"bfloat16\"",
    default = "none"
  ),
  rule.1 = list(
    not = list(
      properties = list(
        compression = list(anyOf = list(list(enum = c("bfloat16")))),
        communication = list(anyOf = list(list(enum = c("nccl", "shared_memory"))))
      ),
      required = c("compression", "communication")
    ),
    problem = "`compression = {compression}` is not supported with `communication = {communication}`.",
    remedy = "Use `communication = \"ring\"`, or `compression = \"none\"`.",
    error = "argument",
    argument = "compression"
  ),
  device.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?: *(/job:localhost)?(/replica:0)?(/task:0)?/?([Dd][Ee][Vv][Ii][Cc][Ee]:)?[CcGg][Pp][Uu]:[0-9]{1,4} *)$",
        problem = "`{argument}` does not name a CPU or GPU of this machine: {value}.",
        remedy = "Write a type and a number, such as \"CPU:0\" or \"GPU:1\".",
        error = "strategy"
      ))
    )),
    expected = "a non-empty string"
  ),
  address.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:local)$",
        problem = "`{argument}` is {value}, a TPU behind another machine, which would have to read the data of this one.",
        remedy = "Run R on the TPU VM itself, with `address = \"local\"`.",
        error = "unsupported"
      ))
    )),
    expected = "a non-empty string",
    default = "local"
  ),
  steps_per_run.1 = list(
    anyOf = list(list(type = "integer", minimum = 1L), list(enum = c("auto"))),
    expected = "a whole number of at least 1 or \"auto\"",
    default = "auto"
  ),
  chief.1 = list(
    anyOf = list(list(
      type = "array",
      items = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(
            list(
              pattern = "^(?:(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)(?::([A-Za-z0-9]{0,9}))?)$",
              problem = "`{argument}` holds {value}, which is not an address.",
              remedy = "Write \"host:port\" with letters, digits, dots and hyphens.",
              error = "cluster"
            ),
            list(
              pattern = "^(?:(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)(:(0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?)?)$",
              problem = "`{argument}` holds {value}, which has no port from 1 to 65535.",
              remedy = "Write \"host:port\", such as \"host-a:2222\".",
              error = "cluster"
            )
          )
        ))
      )
    )),
    expected = "non-empty strings or NULL",
    default = list()
  ),
  task.1 = list(
    anyOf = list(list(type = "null"), list()),
    expected = "a Task or NULL",
    default = NULL
  ),
  start_timeout_s.1 = list(
    anyOf = list(list(type = "number", minimum = 1L)),
    expected = "a number of at least 1",
    default = 60.0
  ),
  stall_timeout_s.1 = list(
    anyOf = list(list(type = "number", minimum = 1L)),
    expected = "a number of at least 1",
    default = 300.0
  ),
  workers.1 = list(
    anyOf = list(list(type = "integer", minimum = 1L, maximum = 1000L)),
    expected = "a whole number from 1 to 1000"
  ),
  ps.1 = list(
    anyOf = list(list(type = "integer", minimum = 0L, maximum = 1000L)),
    expected = "a whole number from 0 to 1000",
    default = 0L
  ),
  evaluator.1 = list(
    anyOf = list(list(type = "boolean")),
    expected = "TRUE or FALSE",
    default = TRUE
  ),
  memory_limit_mb.1 = list(
    anyOf = list(list(type = "null"), list(type = "number", minimum = 1L)),
    expected = "a number of at least 1 or NULL",
    default = NULL
  ),
  restarts.1 = list(
    anyOf = list(list(type = "integer", minimum = 0L)),
    expected = "a whole number of at least 0",
    default = 3L
  ),
  network.1 = list(
    anyOf = list(list(enum = c("auto", "private", "open"))),
    expected = "one of \"auto\", \"private\", \"open\"",
    default = "auto"
  ),
  rule.2 = list(
    not = list(
      properties = list(
        workers = list(
          anyOf = list(list(
            type = "array",
            items = list(anyOf = list(list(type = "integer"))),
            minItems = 2L
          ))
        ),
        ps = list(anyOf = list(list(type = "integer", minimum = 1L)))
      ),
      required = c("workers", "ps")
    ),
    problem = "`workers` is {workers}, and a training with parameter servers (`ps` = {ps}) has a fixed number of workers.",
    remedy = "Use one number: the other workers of such a training go on without a lost one.",
    error = "argument",
    argument = "workers"
  ),
  image.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511})$",
        problem = "`{argument}` holds {value}, which a registry does not accept.",
        remedy = "Write it as in \"registry.example.org/cars:1\".",
        error = "cluster"
      ))
    )),
    expected = "a non-empty string"
  ),
  name.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:[a-z]([a-z0-9-]{0,38}[a-z0-9])?)$",
        problem = "`{argument}` holds {value}, which the platform does not accept.",
        remedy = "Write it as in \"cars\".",
        error = "cluster"
      ))
    )),
    expected = "a non-empty string",
    default = "tfdistribute"
  ),
  environment.1 = list(
    anyOf = list(list(
      type = "object",
      propertyNames = list(
        type = "string",
        allOf = list(list(
          pattern = "^(?:[A-Za-z_][A-Za-z0-9_]*)$",
          problem = "`{argument}` holds {value}, which is not the name of a variable."
        ))
      ),
      additionalProperties = list(
        anyOf = list(list(
          type = "string",
          allOf = list(list(
            pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$",
            problem = "`{argument}` must be text without line breaks and other control characters, not {value}."
          ))
        ))
      )
    )),
    expected = "strings in UTF-8 with different names or NULL",
    secret = TRUE,
    default = list()
  ),
  staging.1 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:[A-Za-z][A-Za-z0-9+.-]*://[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$",
          problem = "`{argument}` must be a directory on remote storage, such as \"gs://bucket/jobs\", not {value}."
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  service_account.1 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$",
          problem = "`{argument}` holds {value}, which Kubernetes does not accept.",
          remedy = "Write it as in \"trainer\".",
          error = "cluster"
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  start_timeout_s.2 = list(
    anyOf = list(list(type = "number", minimum = 1L)),
    expected = "a number of at least 1",
    default = 600.0
  ),
  job_kind.1 = list(
    anyOf = list(list(enum = c("Job", "TrainJob", "TFJob"))),
    expected = "one of \"Job\", \"TrainJob\", \"TFJob\"",
    default = "Job"
  ),
  namespace.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$",
        problem = "`{argument}` holds {value}, which Kubernetes does not accept.",
        remedy = "Write it as in \"default\".",
        error = "cluster"
      ))
    )),
    expected = "a non-empty string",
    default = "default"
  ),
  queue.1 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$",
          problem = "`{argument}` holds {value}, which Kubernetes does not accept.",
          remedy = "Write it as in \"team-queue\".",
          error = "cluster"
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  gpus.1 = list(
    anyOf = list(list(type = "integer", minimum = 0L)),
    expected = "a whole number of at least 0",
    default = 0L
  ),
  cpus.1 = list(
    anyOf = list(list(type = "null"), list(type = "number", minimum = 0.001)),
    expected = "a number of at least 0.001 or NULL",
    default = NULL
  ),
  memory.1 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:[0-9]+([.][0-9]+)?([KMGTPE]i?|k|m)?)$",
          problem = "`{argument}` holds {value}, which Kubernetes does not accept.",
          remedy = "Write it as in \"16Gi\".",
          error = "cluster"
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  volumes.1 = list(
    anyOf = list(list(
      type = "object",
      propertyNames = list(
        type = "string",
        allOf = list(list(
          pattern = "^(?:(/[A-Za-z0-9._-]+)+)$",
          problem = "`{argument}` holds {value}, which Kubernetes does not accept.",
          remedy = "Write it as in \"/models\".",
          error = "cluster"
        ))
      ),
      additionalProperties = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(list(
            pattern = "^(?:[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$",
            problem = "`{argument}` holds {value}, which Kubernetes does not accept.",
            remedy = "Write it as in \"models-claim\".",
            error = "cluster"
          ))
        ))
      )
    )),
    expected = "strings in UTF-8 with different names or NULL",
    default = list()
  ),
  secrets.1 = list(
    anyOf = list(list(
      type = "array",
      items = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(list(
            pattern = "^(?:[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$",
            problem = "`{argument}` holds {value}, which Kubernetes does not accept.",
            remedy = "Write it as in \"storage-key\".",
            error = "cluster"
          ))
        ))
      )
    )),
    expected = "non-empty strings or NULL",
    default = list()
  ),
  kubectl.1 = list(
    anyOf = list(list(
      type = "array",
      items = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(list(
            pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$",
            problem = "`{argument}` must be text without line breaks and other control characters, not {value}."
          ))
        ))
      ),
      minItems = 1L
    )),
    expected = "non-empty strings",
    default = c("kubectl")
  ),
  staging.2 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:gs://[a-z0-9][!-~]*)$",
        problem = "`{argument}` holds {value}, which Vertex AI does not accept.",
        remedy = "Write it as in \"gs://bucket/jobs\".",
        error = "cluster"
      ))
    )),
    expected = "a non-empty string"
  ),
  service_account.2 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:[A-Za-z0-9][A-Za-z0-9._@-]{0,251})$",
          problem = "`{argument}` holds {value}, which Vertex AI does not accept.",
          remedy = "Write it as in \"trainer@my-project.iam.gserviceaccount.com\".",
          error = "cluster"
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  project.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:[a-z0-9][a-z0-9:.-]{0,61}[a-z0-9])$",
        problem = "`{argument}` holds {value}, which Vertex AI does not accept.",
        remedy = "Write it as in \"my-project\".",
        error = "cluster"
      ))
    )),
    expected = "a non-empty string"
  ),
  location.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:[a-z]+(-[a-z]+)*[0-9]+)$",
        problem = "`{argument}` holds {value}, which Vertex AI does not accept.",
        remedy = "Write it as in \"europe-west4\".",
        error = "cluster"
      ))
    )),
    expected = "a non-empty string"
  ),
  machine_type.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:[a-z][a-z0-9-]{0,61}[a-z0-9])$",
        problem = "`{argument}` holds {value}, which Vertex AI does not accept.",
        remedy = "Write it as in \"n1-standard-8\".",
        error = "cluster"
      ))
    )),
    expected = "a non-empty string",
    default = "n1-standard-8"
  ),
  accelerator.1 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:[A-Z][A-Z0-9_]{0,61})$",
          problem = "`{argument}` holds {value}, which Vertex AI does not accept.",
          remedy = "Write it as in \"NVIDIA_TESLA_T4\".",
          error = "cluster"
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  network.2 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:projects/[0-9]+/global/networks/[a-z0-9-]+)$",
          problem = "`{argument}` holds {value}, which Vertex AI does not accept.",
          remedy = "Write it as in \"projects/1/global/networks/a\".",
          error = "cluster"
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  workers.2 = list(
    anyOf = list(
      list(type = "integer", minimum = 1L, maximum = 1000L),
      list(
        type = "array",
        items = list(anyOf = list(list(type = "integer", minimum = 1L, maximum = 1000L))),
        minItems = 2L,
        maxItems = 2L,
        increasing = TRUE
      )
    ),
    expected = "one count, or the fewest and the most workers of at most 1000"
  ),
  rscript.1 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$",
        problem = "`{argument}` must be text without line breaks and other control characters, not {value}."
      ))
    )),
    expected = "a non-empty string",
    default = "Rscript"
  ),
  python.1 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$",
          problem = "`{argument}` must be text without line breaks and other control characters, not {value}."
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  libraries.1 = list(
    anyOf = list(list(
      type = "array",
      items = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(list(
            pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$",
            problem = "`{argument}` must be text without line breaks and other control characters, not {value}."
          ))
        ))
      )
    )),
    expected = "non-empty strings or NULL",
    default = list()
  ),
  lease_s.1 = list(
    anyOf = list(list(type = "number", minimum = 5L)),
    expected = "a number of at least 5",
    default = 30.0
  ),
  start_timeout_s.3 = list(
    anyOf = list(list(type = "number", minimum = 1L)),
    expected = "a number of at least 1",
    default = 120.0
  ),
  cpus_per_worker.1 = list(
    anyOf = list(list(type = "integer", minimum = 1L, maximum = 10000L)),
    expected = "a whole number from 1 to 10000",
    default = 1L
  ),
  gpus_per_worker.1 = list(
    anyOf = list(list(type = "integer", minimum = 0L, maximum = 10000L)),
    expected = "a whole number from 0 to 10000",
    default = 0L
  ),
  sc.1 = list(anyOf = list(list()), expected = "a function"),
  partition.1 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "string",
        minLength = 1L,
        allOf = list(list(
          pattern = "^(?:[A-Za-z0-9][A-Za-z0-9_.,@-]*)$",
          problem = "`{argument}` is {value}, which is not a name in Slurm."
        ))
      )
    ),
    expected = "a non-empty string or NULL",
    default = NULL
  ),
  setup.1 = list(
    anyOf = list(list(
      type = "array",
      items = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(list(
            pattern = "^(?:[^\u0001-\b\u000b-\u001f\u007f-\u009f\u2028\u2029]*)$",
            problem = "`{argument}` must be text without control characters, not {value}.",
            remedy = "Write lines with \\n between them."
          ))
        ))
      )
    )),
    expected = "non-empty strings or NULL",
    default = list()
  ),
  stop_signal_s.1 = list(
    anyOf = list(list(type = "integer", minimum = 10L, maximum = 65535L)),
    expected = "a whole number from 10 to 65535",
    default = 120L
  ),
  address.2 = list(
    anyOf = list(list(
      type = "string",
      minLength = 1L,
      allOf = list(list(
        pattern = "^(?:auto|(ray://)?([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5})$",
        problem = "`{argument}` is {value}, which is not the address of a Ray cluster.",
        remedy = "Use \"auto\", \"host:port\" with the port of the head node (6379), or \"ray://host:port\" (10001)."
      ))
    )),
    expected = "a non-empty string",
    default = "auto"
  ),
  placement.1 = list(
    anyOf = list(list(enum = c("pack", "spread", "strict_pack", "strict_spread"))),
    expected = "one of \"pack\", \"spread\", \"strict_pack\", \"strict_spread\"",
    default = "pack"
  ),
  hosts.1 = list(
    anyOf = list(list(
      type = "array",
      items = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(list(
            pattern = "^(?:([A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)$",
            problem = "`{argument}` holds {value}, which is not the name of a host.",
            remedy = "Write \"host\" or \"user@host\" with letters, digits, dots and hyphens; a port belongs into ~/.ssh/config.",
            error = "cluster"
          ))
        ))
      ),
      minItems = 1L
    )),
    expected = "non-empty strings"
  ),
  host_addresses.1 = list(
    anyOf = list(list(
      type = "object",
      propertyNames = list(type = "string"),
      additionalProperties = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(list(
            pattern = "^(?:(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?))$",
            problem = "`{argument}` is {value}, which is not an address without a port.",
            remedy = "Write a name or an IP address, such as c(\"node-a\" = \"10.0.0.1\").",
            error = "cluster"
          ))
        ))
      )
    )),
    expected = "strings in UTF-8 with different names or NULL",
    default = list()
  ),
  ssh.1 = list(
    anyOf = list(list(
      type = "array",
      items = list(
        anyOf = list(list(
          type = "string",
          minLength = 1L,
          allOf = list(list(
            pattern = "^(?:[^\u0001-\u001f\u007f-\u009f\u2028\u2029]*)$",
            problem = "`{argument}` must be text without line breaks and other control characters, not {value}."
          ))
        ))
      ),
      minItems = 1L
    )),
    expected = "non-empty strings",
    default = c("ssh")
  ),
  strategy.1 = list(
    anyOf = list(list(type = "null"), list(`$ref` = "#/$defs/strategy")),
    expected = "a strategy or NULL",
    remedy = "Make one with strategy_mirrored() or another strategy_*() function.",
    default = NULL
  ),
  model_dir.1 = list(
    anyOf = list(list(type = "null"), list(type = "string", minLength = 1L)),
    expected = "a non-empty string or NULL",
    path = TRUE,
    default = NULL
  ),
  seed.1 = list(
    anyOf = list(list(type = "null"), list(type = "integer")),
    expected = "a whole number or NULL",
    default = 1L
  ),
  save_summary_steps.1 = list(
    anyOf = list(list(type = "null"), list(type = "integer", minimum = 0L), list(enum = c("auto"))),
    expected = "a whole number of at least 0, \"auto\" or NULL",
    default = "auto"
  ),
  save_checkpoints_steps.1 = list(
    anyOf = list(list(type = "null"), list(type = "integer", minimum = 0L)),
    expected = "a whole number of at least 0 or NULL",
    default = NULL
  ),
  save_checkpoints_secs.1 = list(
    anyOf = list(list(type = "null"), list(type = "number", minimum = 0L)),
    expected = "a number of at least 0 or NULL",
    default = 600.0
  ),
  session_config.1 = list(
    anyOf = list(
      list(type = "null"),
      list(
        type = "object",
        propertyNames = list(type = "string"),
        additionalProperties = list(anyOf = list(list()))
      )
    ),
    expected = "a named list or NULL",
    default = NULL
  ),
  keep_checkpoint_max.1 = list(
    anyOf = list(list(type = "null"), list(type = "integer", minimum = 0L)),
    expected = "a whole number of at least 0 or NULL",
    default = 5L
  ),
  keep_checkpoint_every_n_hours.1 = list(
    anyOf = list(list(type = "number", exclusiveMinimum = 0L)),
    expected = "a number above 0",
    default = 10000.0
  ),
  log_step_count_steps.1 = list(
    anyOf = list(list(type = "null"), list(type = "integer", minimum = 1L), list(enum = c("auto"))),
    expected = "a whole number of at least 1, \"auto\" or NULL",
    default = "auto"
  ),
  device_fn.1 = list(
    anyOf = list(
      list(type = "null"),
      list(takes = c("op"), remedy = "Write function(op) and return a device's name.")
    ),
    expected = "a function of (op) or NULL",
    default = NULL
  ),
  protocol.1 = list(
    anyOf = list(list(type = "null"), list(enum = c("grpc", "grpc+verbs"))),
    expected = "one of \"grpc\", \"grpc+verbs\" or NULL",
    default = NULL
  ),
  session_creation_timeout_secs.1 = list(
    anyOf = list(list(type = "number", exclusiveMinimum = 0L)),
    expected = "a number above 0",
    default = 7200.0
  ),
  experimental_distribute.1 = list(anyOf = list(list()), expected = "a function", default = NULL),
  cluster.1 = list(
    anyOf = list(list(type = "null"), list(`$ref` = "#/$defs/cluster")),
    expected = "a cluster such as local_cluster(2) or NULL",
    default = NULL
  ),
  precision.1 = list(
    anyOf = list(list(enum = c("float32", "mixed_bfloat16", "mixed_float16"))),
    expected = "one of \"float32\", \"mixed_bfloat16\", \"mixed_float16\"",
    default = "float32"
  ),
  compile.1 = list(
    anyOf = list(list(type = "boolean"), list(enum = c("auto"))),
    expected = "TRUE, FALSE or \"auto\"",
    default = "auto"
  ),
  track.1 = list(
    anyOf = list(list(type = "null"), list(`$ref` = "#/$defs/tracker")),
    expected = "track_mlflow() or track_wandb() or NULL",
    default = NULL
  ),
  rule.3 = list(
    not = list(
      properties = list(
        save_checkpoints_steps = list(anyOf = list(list(not = list(type = "null")))),
        save_checkpoints_secs = list(anyOf = list(list(not = list(type = "null"))))
      ),
      required = c("save_checkpoints_steps", "save_checkpoints_secs")
    ),
    problem = "`save_checkpoints_steps` ({save_checkpoints_steps}) and `save_checkpoints_secs` ({save_checkpoints_secs}) cannot both be given.",
    remedy = "Leave one of them out.",
    error = "run_config",
    argument = "save_checkpoints_steps"
  ),
  rule.4 = list(
    not = list(
      properties = list(
        experimental_distribute = list(anyOf = list(list(not = list(type = "null"))))
      ),
      required = c("experimental_distribute")
    ),
    problem = "`experimental_distribute` is not supported: it sets the strategies a second time.",
    remedy = "Use `strategy` and `eval_distribute`.",
    error = "run_config",
    argument = "experimental_distribute"
  ),
  rule.5 = list(
    not = list(
      properties = list(
        device_fn = list(anyOf = list(list(not = list(type = "null")))),
        strategy = list(anyOf = list(list(not = list(type = "null"))))
      ),
      required = c("device_fn", "strategy")
    ),
    problem = "`device_fn` places operations, and so does `strategy`.",
    remedy = "Give one of them.",
    error = "strategy",
    argument = "device_fn"
  ),
  rule.6 = list(
    not = list(
      properties = list(
        track = list(anyOf = list(list(not = list(type = "null")))),
        cluster = list(
          properties = list(kind = list(anyOf = list(list(enum = c("kubernetes", "vertex"))))),
          required = c("kind")
        )
      ),
      required = c("track", "cluster")
    ),
    problem = "`track` does not support a cluster of containers: nothing of this package follows its jobs.",
    remedy = "Leave `track` out, and log in the containers.",
    error = "run_config",
    argument = "track"
  ),
  log_model.1 = list(
    anyOf = list(list(type = "boolean")),
    expected = "TRUE or FALSE",
    default = FALSE
  ),
  mode.1 = list(
    anyOf = list(list(enum = c("online", "offline"))),
    expected = "one of \"online\", \"offline\"",
    default = "online"
  )
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
  properties = schema_fields_of(
    devices = "devices.1",
    cross_device = "cross_device.1",
    devices_per_replica = "devices_per_replica.1"
  ),
  rules = schema_fields_of()
)
schema$strategy$model_parallel <- list(
  properties = schema_fields_of(devices = "devices.1"),
  rules = schema_fields_of()
)
schema$strategy$multi_worker <- list(
  properties = schema_fields_of(
    communication = "communication.1",
    timeout_s = "timeout_s.1",
    devices_per_replica = "devices_per_replica.1",
    compression = "compression.1"
  ),
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
  properties = schema_fields_of(
    chief = "chief.1",
    worker = "chief.1",
    ps = "chief.1",
    evaluator = "chief.1",
    task = "task.1",
    start_timeout_s = "start_timeout_s.1",
    stall_timeout_s = "stall_timeout_s.1"
  ),
  rules = schema_fields_of()
)
schema$cluster$local <- list(
  properties = schema_fields_of(
    workers = "workers.1",
    ps = "ps.1",
    evaluator = "evaluator.1",
    devices_per_worker = "devices_per_replica.1",
    memory_limit_mb = "memory_limit_mb.1",
    start_timeout_s = "start_timeout_s.1",
    stall_timeout_s = "stall_timeout_s.1",
    restarts = "restarts.1",
    network = "network.1"
  ),
  rules = schema_fields_of("rule.2")
)
schema$cluster$kubernetes <- list(
  properties = schema_fields_of(
    workers = "workers.1",
    ps = "ps.1",
    evaluator = "evaluator.1",
    image = "image.1",
    name = "name.1",
    environment = "environment.1",
    staging = "staging.1",
    service_account = "service_account.1",
    time_limit_s = "memory_limit_mb.1",
    start_timeout_s = "start_timeout_s.2",
    stall_timeout_s = "stall_timeout_s.1",
    job_kind = "job_kind.1",
    namespace = "namespace.1",
    queue = "queue.1",
    gpus = "gpus.1",
    cpus = "cpus.1",
    memory = "memory.1",
    volumes = "volumes.1",
    secrets = "secrets.1",
    restarts = "restarts.1",
    kubectl = "kubectl.1"
  ),
  rules = schema_fields_of("rule.2")
)
schema$cluster$vertex <- list(
  properties = schema_fields_of(
    workers = "workers.1",
    ps = "ps.1",
    evaluator = "evaluator.1",
    image = "image.1",
    name = "name.1",
    environment = "environment.1",
    staging = "staging.2",
    service_account = "service_account.2",
    time_limit_s = "memory_limit_mb.1",
    start_timeout_s = "start_timeout_s.2",
    stall_timeout_s = "stall_timeout_s.1",
    project = "project.1",
    location = "location.1",
    machine_type = "machine_type.1",
    accelerator = "accelerator.1",
    accelerators = "devices_per_replica.1",
    network = "network.2",
    restarts = "evaluator.1"
  ),
  rules = schema_fields_of("rule.2")
)
schema$cluster$spark <- list(
  properties = schema_fields_of(
    workers = "workers.2",
    ps = "ps.1",
    evaluator = "evaluator.1",
    rscript = "rscript.1",
    python = "python.1",
    libraries = "libraries.1",
    environment = "environment.1",
    lease_s = "lease_s.1",
    start_timeout_s = "start_timeout_s.3",
    stall_timeout_s = "stall_timeout_s.1",
    restarts = "restarts.1",
    cpus_per_worker = "cpus_per_worker.1",
    gpus_per_worker = "gpus_per_worker.1",
    sc = "sc.1"
  ),
  rules = schema_fields_of("rule.2")
)
schema$cluster$slurm <- list(
  properties = schema_fields_of(
    workers = "workers.1",
    ps = "ps.1",
    evaluator = "evaluator.1",
    devices_per_worker = "devices_per_replica.1",
    rscript = "rscript.1",
    python = "python.1",
    libraries = "libraries.1",
    environment = "environment.1",
    lease_s = "lease_s.1",
    start_timeout_s = "start_timeout_s.3",
    stall_timeout_s = "stall_timeout_s.1",
    restarts = "restarts.1",
    nodes = "workers.1",
    time_limit = "python.1",
    partition = "partition.1",
    account = "partition.1",
    options = "libraries.1",
    setup = "setup.1",
    stop_signal_s = "stop_signal_s.1",
    requeue = "evaluator.1"
  ),
  rules = schema_fields_of("rule.2")
)
schema$cluster$ray <- list(
  properties = schema_fields_of(
    workers = "workers.2",
    ps = "ps.1",
    evaluator = "evaluator.1",
    rscript = "rscript.1",
    python = "python.1",
    libraries = "libraries.1",
    environment = "environment.1",
    lease_s = "lease_s.1",
    start_timeout_s = "start_timeout_s.3",
    stall_timeout_s = "stall_timeout_s.1",
    restarts = "restarts.1",
    cpus_per_worker = "cpus_per_worker.1",
    gpus_per_worker = "gpus_per_worker.1",
    address = "address.2",
    placement = "placement.1"
  ),
  rules = schema_fields_of("rule.2")
)
schema$cluster$mirai <- list(
  properties = schema_fields_of(
    workers = "workers.1",
    ps = "ps.1",
    evaluator = "evaluator.1",
    rscript = "rscript.1",
    python = "python.1",
    libraries = "libraries.1",
    environment = "environment.1",
    lease_s = "lease_s.1",
    start_timeout_s = "start_timeout_s.3",
    stall_timeout_s = "stall_timeout_s.1",
    restarts = "restarts.1",
    cpus_per_worker = "cpus_per_worker.1",
    gpus_per_worker = "gpus_per_worker.1",
    profile = "python.1"
  ),
  rules = schema_fields_of("rule.2")
)
schema$cluster$ssh <- list(
  properties = schema_fields_of(
    workers = "workers.2",
    ps = "ps.1",
    evaluator = "evaluator.1",
    devices_per_worker = "devices_per_replica.1",
    rscript = "rscript.1",
    python = "python.1",
    libraries = "libraries.1",
    environment = "environment.1",
    lease_s = "lease_s.1",
    start_timeout_s = "start_timeout_s.3",
    stall_timeout_s = "stall_timeout_s.1",
    restarts = "restarts.1",
    hosts = "hosts.1",
    host_addresses = "host_addresses.1",
    ssh = "ssh.1"
  ),
  rules = schema_fields_of("rule.2")
)
schema$run_config <- list(
  properties = schema_fields_of(
    strategy = "strategy.1",
    eval_distribute = "strategy.1",
    model_dir = "model_dir.1",
    seed = "seed.1",
    save_summary_steps = "save_summary_steps.1",
    save_checkpoints_steps = "save_checkpoints_steps.1",
    save_checkpoints_secs = "save_checkpoints_secs.1",
    session_config = "session_config.1",
    keep_checkpoint_max = "keep_checkpoint_max.1",
    keep_checkpoint_every_n_hours = "keep_checkpoint_every_n_hours.1",
    log_step_count_steps = "log_step_count_steps.1",
    device_fn = "device_fn.1",
    protocol = "protocol.1",
    session_creation_timeout_secs = "session_creation_timeout_secs.1",
    experimental_distribute = "experimental_distribute.1",
    experimental_max_worker_delay_secs = "save_checkpoints_steps.1",
    checkpoint_save_graph_def = "evaluator.1",
    cluster = "cluster.1",
    steps_per_run = "steps_per_run.1",
    precision = "precision.1",
    micro_batches = "devices_per_replica.1",
    compile = "compile.1",
    track = "track.1"
  ),
  rules = schema_fields_of("rule.3", "rule.4", "rule.5", "rule.6")
)
schema$tracker$mlflow <- list(
  properties = schema_fields_of(
    run_name = "python.1",
    log_model = "log_model.1",
    experiment = "python.1",
    tracking_uri = "python.1"
  ),
  rules = schema_fields_of()
)
schema$tracker$wandb <- list(
  properties = schema_fields_of(
    run_name = "python.1",
    log_model = "log_model.1",
    project = "python.1",
    entity = "python.1",
    mode = "mode.1"
  ),
  rules = schema_fields_of()
)
