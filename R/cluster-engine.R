# Clusters whose members an engine starts, such as Ray.

# A cluster whose engine gives each member the CPUs and GPUs that its arguments name.
describe_engine <- function(kind, arguments) {
  described <- describe("cluster", kind, arguments)
  described["devices_per_worker"] <- max(1L, described$gpus_per_worker)
  described
}

# How their clusters are called in sentences.
engines <- c(ray = "Ray", spark = "Spark", mirai = "mirai")

# The lines of a printed cluster, with the values of its engine in `...`.
format_engine <- function(x, member, hosts, ...) {
  members <- several(max(x$workers) + x$ps, member)
  gpus <- if (x$gpus_per_worker > 0) paste(" and", several(x$gpus_per_worker, "GPU"))
  format_started(
    x,
    paste("process{?es} in", members, "of", engines[[x$kind]]),
    ...,
    `each has` = paste0(several(x$cpus_per_worker, "CPU"), gpus),
    watched = show_watched(x, hosts)
  )
}

#' @export
show_hosts.tfdistribute_ray_cluster <- function(x) {
  engines[[x$kind]]
}

#' @export
show_hosts.tfdistribute_spark_cluster <- show_hosts.tfdistribute_ray_cluster

#' @export
show_hosts.tfdistribute_mirai_cluster <- show_hosts.tfdistribute_ray_cluster
