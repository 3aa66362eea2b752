# Data in memory as files that all tasks of a job map.

# Write the data in memory of the arguments of a verb to files in the job's private directory. Returns the arguments
# with inputs of kind "mapped".
share_data <- function(arguments, directory) {
  in_memory <- function(x) inherits(source_of(x), "tfdistribute_in_memory_input")
  held <- Filter(in_memory, arguments)
  if (length(held) == 0) {
    return(arguments)
  }
  paths <- file.path(directory, paste0("data-", seq_along(held)))
  inputs <- unname(lapply(held, source_of))
  call_backend("pack_inputs", inputs = inputs, directories = as.list(paths))
  arguments[names(held)] <- Map(with_mapped_source, held, paths)
  arguments
}

# The input of an argument (an input, a train_spec() or eval_spec(), or anything else), before any transformation.
source_of <- function(x) {
  if (inherits(x, c("tfdistribute_train_spec", "tfdistribute_eval_spec"))) {
    source_of(x$input)
  } else if (inherits(x, "tfdistribute_transformed_input")) {
    source_of(x$source)
  } else {
    x
  }
}

with_mapped_source <- function(x, path) {
  if (inherits(x, c("tfdistribute_train_spec", "tfdistribute_eval_spec"))) {
    x$input <- with_mapped_source(x$input, path)
  } else if (inherits(x, "tfdistribute_transformed_input")) {
    x$source <- with_mapped_source(x$source, path)
  } else {
    kept <- unclass(x)[c("response", "batch_size", "num_epochs", "shuffle", "seed")]
    x <- do.call(new_description, c(list("input", "mapped", directory = path), kept))
  }
  x
}

#' @export
format.tfdistribute_mapped_input <- function(x, ...) {
  c(
    paste0("<input> rows in ", x$directory),
    paste0("  batch_size  ", x$batch_size, " over all replicas")
  )
}
