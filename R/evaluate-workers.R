# Evaluation and prediction with the processes of a cluster, each on a shard of the rows.

# Evaluate or predict with the workers of a cluster and the checked arguments of the verb.
read_by_job <- function(cluster, verb, object, input, ...) {
  check_class(cluster, "tfdistribute_local_cluster", "a local_cluster()")
  object <- with_cluster(object, cluster)
  check_starts_job(object$config$cluster)
  arguments <- list(input_fn = input, ...)
  job <- start_job(object, verb, arguments)
  follow_job(job, show = shows_progress(arguments$hooks))
}

read_as_task <- function(verb, object, input_fn, ...) {
  call_backend(verb, estimator = object, input = input_fn, as_task = TRUE, ...)
}

check_no_steps <- function(steps) {
  if (!is.null(steps)) {
    abort_tfdistribute(
      "argument",
      problem = "`steps` ({steps}) and `cluster` cannot both be given: workers evaluate all rows.",
      remedy = "Give fewer rows, or leave `cluster` NULL.",
      argument = "steps",
      value = steps
    )
  }
}

check_not_iterable <- function(as_iterable) {
  if (as_iterable) {
    abort_tfdistribute(
      "argument",
      problem = "`as_iterable` is TRUE, but workers of a `cluster` return all predictions together.",
      remedy = "Leave `as_iterable` FALSE, or `cluster` NULL.",
      argument = "as_iterable",
      value = "TRUE"
    )
  }
}
