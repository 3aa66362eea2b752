# Feature columns made of others: weighted and crossed categories, and categories as vectors.

#' Categorical column with weights
#'
#' Multiplies each row's category by a number from another feature.
#'
#' @eval help_of("column_categorical_weighted")
#' @inherit column_numeric return
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`, from a verb, if the column is not categorical.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/weighted_categorical_column>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' word <- column_categorical_with_hash_bucket("word", hash_bucket_size = 100)
#' column_categorical_weighted(word, weight_feature_key = "frequency")
#' @export
column_categorical_weighted <- function(
  # Fields of feature_column$categorical_weighted
  categorical_column,
  weight_feature_key,
  dtype = c("float32", "float64", "int32", "int64"),
  ...
) {
  check_call(...)
  wrap_columns("categorical_weighted", "categorical_column", as.list(environment()))
}

#' Categorical column of combined features
#'
#' The hash of each combination of categories determines its bucket, so that the effect of one feature can depend on
#' another. For deep models, wrap the column in [column_indicator()] or [column_embedding()].
#'
#' @eval help_of("column_crossed")
#' @inherit column_numeric return
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`, from a verb, if a key cannot be crossed, because it is a numeric column or has hash
#'   buckets. (Use the feature's name instead of a column with hash buckets.)
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/crossed_column>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_crossed(c("cut", "color"), hash_bucket_size = 50)
#' carat <- column_bucketized(column_numeric("carat"), boundaries = c(0.5, 1, 2))
#' column_crossed(list(carat, "cut"), hash_bucket_size = 50)
#' @export
column_crossed <- function(
  # Fields of feature_column$crossed
  keys,
  hash_bucket_size,
  hash_key = NULL,
  ...
) {
  check_call(...)
  check_whole_columns(keys, "keys")
  if (is.character(keys) || is_list_of_columns(keys)) {
    keys <- unname(as.list(unclass(keys)))
  }
  describe("feature_column", "crossed", as.list(environment()))
}

#' Indicator column: categories as counts
#'
#' Creates one number per category, the number of times that the category occurs in the row. Indicator columns are for
#' deep models and few categories. For many categories, use [column_embedding()]. In a linear model, an indicator of at
#' least 100 categories is as fast as its categorical column, because TensorFlow looks up the weights. Optimizers with
#' momentum then change only the weights of the categories in a step.
#'
#' @eval help_of("column_indicator")
#' @inherit column_numeric return
#' @inheritSection column_categorical_weighted Errors
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/indicator_column>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' species <- column_categorical_with_vocabulary_list(
#'   "Species",
#'   vocabulary_list = levels(iris$Species)
#' )
#' column_indicator(species)
#' @export
column_indicator <- function(
  # Fields of feature_column$indicator
  categorical_column,
  ...
) {
  check_call(...)
  wrap_columns("indicator", "categorical_column", as.list(environment()))
}

#' Embedding column: categories as learned vectors
#'
#' Maps each category to a vector that is learned with the model. Embedding columns are for deep models and many
#' categories. Each column has its own vectors, except with `shared`. TensorFlow's own
#' `tf$feature_column$shared_embeddings()` is an error outside of a model function (see [estimator()]). A model with
#' shared vectors cannot be converted to Keras.
#'
#' @inheritParams column_categorical_weighted
#' @eval help_of("column_embedding")
#' @inherit column_numeric return
#' @inheritSection column_categorical_weighted Errors
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/embedding_column>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' city <- column_categorical_with_hash_bucket("city", hash_bucket_size = 1000)
#' column_embedding(city, dimension = 8)
#' cities <- column_categorical_with_hash_bucket("from", "to", hash_bucket_size = 1000)
#' column_embedding(cities, dimension = 8, shared = "city")
#' column_embedding(city, dimension = 8, initializer = list("truncated_normal", stddev = 0.1))
#' @export
column_embedding <- function(
  # Fields of feature_column$embedding
  categorical_column,
  dimension,
  combiner = c("mean", "sqrtn", "sum"),
  initializer = NULL,
  ckpt_to_load_from = NULL,
  tensor_name_in_ckpt = NULL,
  max_norm = NULL,
  trainable = TRUE,
  shared = NULL,
  ...
) {
  check_call(...)
  initializer <- check_initializer(initializer)
  wrap_columns("embedding", "categorical_column", as.list(environment()))
}

# A column for each column that `field` holds, by the arguments of the constructor.
wrap_columns <- function(kind, field, arguments) {
  columns <- as_feature_columns(arguments[[field]], field)
  if (length(columns) == 0) {
    abort_argument(columns, "a feature column", field)
  }
  arguments["dtype"] <- list(plain_dtype(arguments$dtype))
  columns_of(columns, function(column) {
    describe("feature_column", kind, replace(arguments, field, list(column)))
  })
}

#' @export
format.tfdistribute_categorical_weighted_feature_column <- function(x, ...) {
  paste0(format(x$categorical_column), ", weighted by ", x$weight_feature_key)
}

#' @export
format.tfdistribute_crossed_feature_column <- function(x, ...) {
  names <- paste(crossed_names(x), collapse = " x ")
  paste0("crossed ", names, ", ", x$hash_bucket_size, " hash buckets")
}

#' @export
format.tfdistribute_indicator_feature_column <- function(x, ...) {
  paste0("indicator (", format(x$categorical_column), ")")
}

#' @export
format.tfdistribute_embedding_feature_column <- function(x, ...) {
  shared <- if (!is.null(x$shared)) paste0(" shared as \"", x$shared, "\"")
  vectors <- paste0(x$dimension, " dimensions", shared)
  paste0("embedding in ", vectors, " (", format(x$categorical_column), ")")
}

check_initializer <- function(initializer) {
  if (is.null(initializer) || inherits(initializer, "tfdistribute_initializer")) {
    return(initializer)
  }
  if (is.function(initializer) || is_python_object(initializer)) {
    return(new_description("initializer", "function", `function` = initializer))
  }
  parts <- named_settings(initializer, "list(\"truncated_normal\", stddev = 0.1)")
  known <- schema$initializer$named$name
  name <- check_field(tolower(parts$name), known, "initializer")
  new_named_description("initializer", name, parts$settings)
}
