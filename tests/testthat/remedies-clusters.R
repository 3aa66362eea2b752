# Errors of clusters, strategies, run configurations and scripts, each with the code of its remedy. They start no
# Python.

tries(address_cluster(chief = "a:0"), address_cluster(chief = "host-a:2222"))
tries(ssh_cluster(), ssh_cluster(c("node-a", "node-b")))
tries(
  ssh_cluster(c("node-a", "node-b"), host_addresses = c("node-a" = "10.0.0.1:22")),
  ssh_cluster(c("node-a", "node-b"), host_addresses = c("node-a" = "10.0.0.1"))
)
tries(
  kubernetes_cluster(image = "a", workers = 2, volumes = c("/models" = "Models")),
  kubernetes_cluster(image = "a", workers = 2, volumes = c("/models" = "models-claim"))
)
tries(
  as_tf_config(slurm_cluster(nodes = 2)),
  as_tf_config(address_cluster(chief = "a:1", worker = "b:1"))
)
tries(
  strategy_multi_worker(communication = "nccl", compression = "bfloat16"),
  {
    strategy_multi_worker(communication = "ring", compression = "bfloat16")
    strategy_multi_worker(communication = "nccl", compression = "none")
  }
)
tries(
  strategy_mirrored(c("CPU:0", "CPU:1"), cross_device = "nccl"),
  strategy_mirrored(2, cross_device = "auto")
)
tries(strategy_tpu(address = "grpc://10.0.0.2:8470"), strategy_tpu(address = "local"))
tries(run_config("mirrored"), run_config(strategy_mirrored()))
tries(
  run_config(device_fn = function() "CPU:0"),
  run_config(device_fn = function(op) "CPU:0")
)
tries(
  run_config(session_config = list(1)),
  {
    value <- 1
    run_config(session_config = list(field = value))
  }
)
tries(tf_config(1), tf_config)
tries(local_cluster(workers = 2, chiefs = 1), local_cluster(workers = 2))
tries(
  kubernetes_cluster(image = "a", workers = 2, namespace = "My_Space"),
  kubernetes_cluster(image = "a", workers = 2, namespace = "training")
)
tries(
  ray_cluster(workers = 2, address = "http://a"),
  {
    ray_cluster(workers = 2, address = "auto")
    ray_cluster(workers = 2, address = "host:6379")
    ray_cluster(workers = 2, address = "ray://host:10001")
  }
)
tries(slurm_cluster(nodes = 3, workers = 2), slurm_cluster(nodes = 2, workers = 2))
tries(ssh_cluster(c("a", "b:22")), ssh_cluster(c("a", "user@b")))
tries(
  ssh_cluster(c("a", "b"), host_addresses = c(d = "10.0.0.1")),
  ssh_cluster(c("a", "b"), host_addresses = c(b = "10.0.0.1"))
)
tries(
  as_tf_config(address_cluster(chief = "a:1"), "worker 3"),
  as_tf_config(address_cluster(chief = "a:1"), "chief 0")
)
tries(address_cluster(chief = "a b:1"), address_cluster(chief = "[::1]:2222"))
tries(
  address_cluster(chief = "a:1", worker = "a:1"),
  address_cluster(chief = "a:1", worker = "b:1")
)
tries(ray_cluster(workers = c(1, 2), ps = 1), ray_cluster(workers = 2, ps = 1))
tries(
  run_config(save_checkpoints_steps = 1, save_checkpoints_secs = 1),
  run_config(save_checkpoints_steps = 1)
)
tries(
  run_config(experimental_distribute = 1),
  run_config(strategy = strategy_mirrored(), eval_distribute = strategy_mirrored())
)
tries(
  run_config(strategy_mirrored(), device_fn = function(op) "CPU:0"),
  {
    run_config(strategy_mirrored())
    run_config(device_fn = function(op) "CPU:0")
  }
)
tries(strategy_mirrored("XPU:0"), strategy_mirrored(c("CPU:0", "GPU:1")))
tries(strategy_mirrored(c("CPU:0", "CPU:0")), strategy_mirrored(c("CPU:0", "CPU:1")))
tries(
  strategy_mirrored(3, devices_per_replica = 2),
  strategy_mirrored(4, devices_per_replica = 2)
)
tries(
  tfdistribute:::function_for_python(path, "model", "model", NULL),
  tfdistribute:::function_for_python(path, "model_of_cars", "model", NULL),
  path = withr::local_tempfile(lines = "model_of_cars <- function(features) NULL")
)
tries(
  flags(flag_integer("steps", 1), file = "flags.yml", arguments = character()),
  flags(flag_integer("steps", 1), file = NULL, arguments = character())
)
tries(
  {
    make <- function(rate) function(features) features * rate
    tfdistribute:::find_captures(list(model_fn = make(no_such_rate)))
  },
  {
    no_such_rate <- 2
    rate <- no_such_rate
    tfdistribute:::find_captures(list(model_fn = make(rate)))
  }
)
tries(
  {
    path <- stdin()
    tfdistribute:::find_captures(list(model_fn = function(features) readLines(path)))
  },
  tfdistribute:::find_captures(list(model_fn = function(features) readLines(stdin())))
)
tries(
  tfdistribute:::find_captures(list(hook = stdin())),
  tfdistribute:::find_captures(list(hook = function() stdin()))
)
tries(write_dockerfile("no such folder/Dockerfile"), write_dockerfile(tempfile()))
