# Matrices as inputs: each column is a column of the input.

#' @rdname input_fn
#' @export
input_fn.matrix <- function(
  object,
  features,
  response = NULL,
  batch_size = 128,
  shuffle = "auto",
  num_epochs = 1,
  queue_capacity = 1000,
  num_threads = 1,
  impute = NULL,
  factors = c("labels", "codes"),
  seed = NULL,
  weights = NULL,
  transform = NULL,
  ...
) {
  check_no_more(..., verb = "input_fn", known = input_arguments())
  # The names that as.data.frame() gives, and tfestimators therefore gave.
  if (is.null(colnames(object)) && ncol(object) > 0) {
    colnames(object) <- paste0("V", seq_len(ncol(object)))
  }
  check_column_names(colnames(object))
  new_in_memory_input(
    object,
    features = select_columns(rlang::enquo(features), object, "features"),
    response = select_response(rlang::enquo(response), object),
    source = "matrix",
    batch_size = batch_size,
    shuffle = shuffle,
    num_epochs = num_epochs,
    impute = impute,
    factors = factors,
    seed = seed,
    weights = select_response(rlang::enquo(weights), object, "weights"),
    transform = transform
  )
}
