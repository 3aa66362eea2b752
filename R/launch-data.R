# In-memory data in files that all tasks of a job map.

# Write the in-memory inputs among a verb's arguments to files in the job's private directory. Returns the arguments
# with inputs of kind "mapped".
share_data <- function(arguments, directory) {
  is_in_memory <- function(x) inherits(source_of(x), "tfdistribute_in_memory_input")
  in_memory <- Filter(is_in_memory, arguments)
  if (length(in_memory) == 0) {
    return(arguments)
  }
  # The tasks read them from their own copy of the private directory, which may be on another host.
  names <- paste0("data-", seq_along(in_memory))
  inputs <- unname(lapply(in_memory, source_of))
  call_backend("pack_inputs", inputs = inputs, directories = as.list(file.path(directory, names)))
  arguments[names(in_memory)] <- Map(with_mapped_source, in_memory, names)
  arguments
}

# Remove the rows that Spark wrote for one verb.
remove_rows <- function(input) {
  if (isTRUE(attr(input, "temporary"))) {
    call_backend("remove_spark_rows", paths = as.list(source_of(input)$paths))
  }
}

input_files <- function(arguments) {
  paths <- unlist(lapply(arguments, function(x) if (inherits(x, input_classes)) source_of(x)$paths))
  paths <- as.character(unique(paths))
  vapply(paths[!grepl("://", paths, fixed = TRUE)], absolute_path, "", USE.NAMES = FALSE)
}

input_classes <- c("tfdistribute_input", "tfdistribute_train_spec", "tfdistribute_eval_spec")

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
    x["source"] <- list(with_mapped_source(x$source, path))
  } else {
    kept <- unclass(x)[c("response", "batch_size", "epochs", "shuffle", "seed")]
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
