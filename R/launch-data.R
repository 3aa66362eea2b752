# Data in memory as files that all tasks of a job map.

# Write the data in memory of an argument (an input, a train_spec() or eval_spec(), or anything else) to files in the
# job's private directory. Returns the argument, with inputs of kind "mapped".
map_data <- function(x, directory) {
  if (inherits(x, "tfdistribute_in_memory_input")) {
    return(mapped_input(x, directory))
  }
  if (inherits(x, "tfdistribute_transformed_input")) {
    x$source <- map_data(x$source, directory)
  } else if (inherits(x, c("tfdistribute_train_spec", "tfdistribute_eval_spec"))) {
    x$input <- map_data(x$input, directory)
  }
  x
}

mapped_input <- function(input, directory) {
  taken <- length(list.files(directory, pattern = "^data-"))
  path <- file.path(directory, paste0("data-", taken + 1))
  call_backend("pack_input", input = input, directory = path)
  do.call(
    new_description,
    c(
      list("input", "mapped", directory = path),
      unclass(input)[c("response", "batch_size", "num_epochs", "shuffle", "seed")]
    )
  )
}

#' @export
format.tfdistribute_mapped_input <- function(x, ...) {
  c(
    paste0("<input> rows in ", x$directory),
    paste0("  batch_size  ", x$batch_size, " over all replicas")
  )
}
