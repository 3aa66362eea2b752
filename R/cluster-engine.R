# Clusters whose members an engine starts, such as Ray.

# A cluster whose engine gives each member the CPUs and GPUs that arguments of the constructor name.
new_engine_cluster <- function(kind, ..., .frame = parent.frame()) {
  cpus <- check_count(.frame$cpus_per_worker, 1L, FALSE, "cpus_per_worker", most_cpus)
  gpus <- check_count(.frame$gpus_per_worker, 0L, FALSE, "gpus_per_worker", most_cpus)
  new_cluster(
    kind,
    ...,
    devices_per_worker = max(1L, gpus),
    cpus_per_worker = cpus,
    gpus_per_worker = gpus,
    .frame = .frame
  )
}

# As in cluster/engines/engine.py.
most_cpus <- 10000L

# How their clusters are called in sentences.
engines <- c(ray = "Ray", spark = "Spark", mirai = "mirai")

# The lines of a printed cluster, with the lines of its engine in `...`.
format_engine <- function(x, member, hosts, ...) {
  processes <- interpolate("{sum(count_tasks(x))} process{?es}")
  members <- several(max(x$workers) + x$ps, member)
  c(
    paste0("<", x$kind, "_cluster> ", processes, " in ", members, " of ", engines[[x$kind]]),
    paste0("  ", show_task_names(x)),
    format_fewest_workers(x),
    ...,
    format_watched(x, hosts),
    format_variables(x)
  )
}

format_share <- function(x) {
  paste0(
    interpolate("  each has   {x$cpus_per_worker} CPU{?s}"),
    if (x$gpus_per_worker > 0) interpolate(" and {x$gpus_per_worker} GPU{?s}")
  )
}
