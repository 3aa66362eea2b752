# In-memory data in files that all tasks of a job map.

# Write the in-memory inputs among a verb's arguments to files in the job's private directory. Returns the arguments
# with inputs of kind "mapped".
share_data <- function(object, arguments, directory) {
  is_in_memory <- function(x) inherits(source_of(x), "tfdistribute_in_memory_input")
  in_memory <- Filter(is_in_memory, arguments)
  if (length(in_memory) == 0) {
    return(arguments)
  }
  # The tasks read them from their own copy of the private directory, which may be on another host.
  names <- paste0("data-", seq_along(in_memory))
  inputs <- unname(lapply(in_memory, source_of))
  directories <- as.list(file.path(directory, names))
  call_backend("pack_inputs", inputs = inputs, directories = directories, estimator = object)
  arguments[names(in_memory)] <- Map(map_source, in_memory, list(as_mapped), names)
  arguments
}

input_files <- function(arguments) {
  paths <- unlist(lapply(arguments, function(x) if (inherits(x, input_classes)) source_of(x)$paths))
  paths <- as.character(unique(paths))
  vapply(paths[!grepl("://", paths, fixed = TRUE)], absolute_path, "", USE.NAMES = FALSE)
}

input_classes <- c("tfdistribute_input", "tfdistribute_train_spec", "tfdistribute_eval_spec")

as_mapped <- function(input, path) {
  kept <- unclass(input)[c("response", "batch_size", "epochs", "shuffle", "seed")]
  do.call(new_description, c(list("input", "mapped", directory = path), kept))
}

#' @export
format.tfdistribute_mapped_input <- function(x, ...) {
  c(
    paste0("<input> rows in ", x$directory),
    paste0("  batch_size  ", x$batch_size, " over all replicas")
  )
}
