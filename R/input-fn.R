#' Describe examples in memory
#'
#' Describes which columns are features, which column is the response, and how rows are batched. Nothing is computed.
#' The data stays in R until a verb such as [train()] copies the selected columns once, as 32-bit numbers, into the
#' training process. Every row is read once per epoch, with any number of devices and workers. `input_fn()` does not
#' split data into training and test rows.
#'
#' @param object The examples, one per row, in one of four forms. First, a data frame, a matrix with column names, or a
#'   named list of vectors and arrays. Second, a formula `response ~ feature + feature`, in which `.` stands for all
#'   other columns and `-` omits one (`~ feature` without a response). See "Formulas". Third, a dataset of tfdatasets.
#'   See "Datasets". Fourth, a Spark DataFrame. See "Spark DataFrames".
#' @param data The examples for a formula: a data frame, matrix, list, dataset or Spark DataFrame.
#' @param features Columns to use as features: bare names, strings, or tidyselect helpers such as `starts_with("x")`.
#' @param response Column to learn, selected in the same way. NULL without a response, as for predicting.
#' @param batch_size Global batch: examples of one training step over all devices and workers, a count. It is divided
#'   over the replicas, so it must be a multiple of their number.
#' @param shuffle Whether each epoch has its own random order: TRUE, FALSE, or `"auto"` for training only. Predictions
#'   always keep the order of the rows.
#' @param epochs Passes over the rows, a count. NULL repeats forever, for training with `steps`. Prediction uses one
#'   pass.
#' @param queue_capacity,num_threads Ignored. These arguments are accepted for scripts written for tfestimators.
#' @param impute Replacement for missing values in features: a value, a function, or a named list with one of these per
#'   feature. The function is `"mean"`, `"median"` or another function of the values that are not missing. A replacement
#'   without a name applies to every feature that it fits. A new label becomes a level of the factor. NULL (default)
#'   makes missing values an error. Missing responses are always an error. See "Missing values".
#' @param factors Whether factors become their `"labels"` (strings) or `"codes"` (0, 1, ...). NULL (default) uses the
#'   form that the model reads. See "Factors".
#' @param seed Seed of the shuffle, a whole number. NULL uses the seed of the run configuration.
#' @param weights Column that contains the weight of each row, selected like `response`. NULL for equal weights. See
#'   [input_transform]. Unlike in [lm()], a vector of weights must first be added to the data.
#' @param transform Function of `features` and `labels` that changes whole batches in TensorFlow, or NULL. See
#'   [input_transform].
#' @param ... For formulas, the arguments from `batch_size` on. For a Spark DataFrame, `staging` and arguments of
#'   [input_parquet()]. Otherwise must be empty.
#' @returns A description of class `tfdistribute_input`, which can be printed, saved and sent to other processes.
#' @section Types of columns:
#' | R | TensorFlow |
#' |---|---|
#' | double | float32, with infinite values only in features (see "Doubles") |
#' | integer | int32 |
#' | logical | int32, 0 and 1 |
#' | factor | string (its label), or int32 (its code, from 0). See "Factors" |
#' | character | string |
#' | Date | float32, days since 1970-01-01 |
#' | POSIXct | float64, seconds since 1970-01-01 UTC |
#' | integer64 (bit64) | int64, exactly |
#' | matrix or array of these, or of NumPy | the same, one row per example |
#' | list of numeric vectors of equal length, or nested lists of numbers | the same, one element per example |
#'
#' Numbers closer to 0 than 1.2e-38, the smallest normal 32-bit number, become 0, because TensorFlow does not compute
#' with them. NA and NaN are missing values. Columns of other types (complex, raw, difftime, POSIXlt, ...) raise an
#' error. Text that is marked as bytes or is not valid UTF-8 also raises an error, so convert it with [iconv()].
#' @section Doubles:
#' Columns of canned models get the digits that they need. A [column_numeric()] whose `center` is large in comparison
#' with its `scale`, and a [column_bucketized()] with large boundaries, read doubles as float64, and TensorFlow centers
#' and divides them in 64 bits. Columns of whole numbers ([identity][column_categorical_with_identity], vocabularies of
#' numbers, hash buckets with `dtype = "int64"`, crossed columns) read doubles without fractions as int64.
#' @section Types in later data:
#' The model keeps which features were numbers, TRUE and FALSE, labels (strings or factors), dates or times when it was
#' first trained. Like `predict.lm()`, all verbs reject a feature of another kind. Whole numbers and doubles are one
#' kind. TFRecord files with `columns` do not tell dates from numbers, and only TensorFlow's types are checked.
#' @section Sparse matrices:
#' A sparse matrix of the package Matrix, such as a `dgCMatrix`, is one feature of a list or a data frame, as in `y ~ x`
#' with `list(x = x, y = y)`. Linear models read it with the column that [feature_columns()] creates for it, with the
#' weights of the dense matrix. For layers, give this column to [column_embedding()] with `combiner = "sum"`, because
#' TensorFlow leaves out negative values with other combiners. Functions get two features, `x` with the numbers of the
#' columns that are not 0, from 0, and `x_values` with their values. Both have as many numbers per row as the row with
#' the most of them, with -1 and 0 at the end of the others, and a matrix with missing values is an error. The columns
#' are read by position, and are not standardized. `sparsevctrs::coerce_to_sparse_matrix()` converts the sparse columns
#' of a tibble.
#' @section Missing values:
#' The first training of a model computes the replacements of `impute = "mean"`, `"median"` or a function from its rows.
#' The model keeps them, with its checkpoints and in [save_estimator()]. Later trainings, [evaluate()] and [predict()]
#' with such an `impute` use them, so that the same row gets the same prediction in any company. A value in `impute` has
#' precedence. A verb that gets a data frame without a formula uses them also without `impute`. An exported model
#' replaces NaN, and features that a `tf.train.Example` lacks. The evaluations of [train_and_evaluate()] use the
#' replacements of its training. The level NA of a factor, which [addNA()] makes, is the label `""` unless `impute`
#' replaces it. TensorFlow's columns have no category for this label, so that a model learns a value for missing labels
#' that is apart from all others, and the label `"NA"` is a label like any other.
#' @section Formulas:
#' For data in memory, a formula may compute its terms and its response, as in [lm()]: `log(price) ~ poly(carat, 2) +
#' cut:color + I(depth^2)`. Each term becomes a column with the term as its name. Numbers become numeric columns, with
#' several numbers per row for `poly()`, `ns()` and other matrices, and factors and strings become labels. An
#' interaction of factors is a factor, and any other interaction has the columns of [model.matrix()], with an indicator
#' for each level and at most 1000 columns. Predictions are on the scale of a computed response, and missing values of
#' a term, such as `log(-1)`, are treated like missing values of a column.
#'
#' The first training determines levels, breaks of `cut()`, the bases of `poly()`, `ns()`, `bs()` and `scale()`, and
#' summaries such as `mean(x)` in `x - mean(x)`. The model keeps them, with its checkpoints and in [save_estimator()],
#' so that later trainings, `predict(model, newdata)` and `evaluate(model, data)` compute the same. A term that gives a
#' row another value among other rows, such as `rank(x)`, is an error. Describe feature columns with the training data,
#' so that both have the same levels. An exported model requires the computed columns.
#'
#' A model computes terms with arithmetic, comparisons, `abs`, `exp`, `log`, `sqrt`, `round`, `pmin`, `pmax`, `ifelse`
#' and other functions of single numbers, `I`, `factor`, `cut`, `findInterval`, `interaction`, `relevel`, `poly`, `ns`,
#' `bs`, `scale`, `mean`, `median`, `sd`, `quantile`, `paste`, `substr`, `sub`, `grepl`, `as.Date` and `format`, always
#' with R's own functions of these names. Other functions are found where the formula was made. For data without a
#' formula, they are found only in a session that trained the model or trusted its file.
#'
#' `- 1` is an error unless a feature has labels, because every model has an intercept. `offset()` is an error. Files,
#' datasets and Spark DataFrames do not compute terms.
#' @section Factors:
#' The model determines how it reads a factor. Columns with a vocabulary or hash buckets, crossed columns, the classes
#' of canned classifiers and Python functions read its labels. Identity columns, [column_numeric()], R model functions
#' and Keras models read its codes, which a message lists. The codes come from the training data, so the same label has
#' the same code in other data, whatever levels that factor has. A label that did not occur in training is an error. A
#' `transform` gets labels.
#' @section Last batch:
#' No row is dropped. Batches continue across epochs. The remaining rows at the end form a smaller step, divided as
#' evenly as possible over the devices and workers, so that every strategy runs the steps of one device. If there are
#' fewer remaining rows than devices, the other devices repeat one of these rows, and its loss and gradient count zero.
#' A model function that records the rows it saw includes the repeated row. (With parameter servers,
#' workers train asynchronously, and each worker ends with its own rows.)
#' @section Datasets:
#' A `tf.data.Dataset` of named columns in batches, as `dataset_batch()` of tfdatasets creates it, is stored as its
#' graph. It can be saved and sent to other processes, where its files must exist. Each of its batches is a global
#' batch, which is divided over the replicas, and its rows stay in their own order. A dataset that calls R functions
#' while it is read requires [input_dataset()].
#' @section Spark DataFrames:
#' Data in Spark is a table of sparklyr (`tbl_spark`) or a DataFrame of pyspark, classic or of Spark Connect. Spark
#' computes the chosen columns once and writes the rows as Parquet files into a new directory below `staging`, and the
#' result is an [input_parquet()] of these files. All rows of the query are read, in the order in which Spark wrote
#' them. `staging` is a directory that this machine, the executors of Spark and all tasks share under one path, or
#' remote storage that both Spark and TensorFlow support. The files stay until you remove them.
#'
#' [train()] and [evaluate()] also accept such data. They write into `model_dir` unless you give `staging`, and remove
#' the files when they end (with `wait = FALSE`, the files stay). [predict()][predict.tfdistribute_estimator] writes no
#' files. [feature_columns()] with a formula gets levels, means and standard deviations from Spark.
#' @section Errors:
#' * `tfdistribute_input_error` if a column is unknown, duplicated, of an unsupported type or size, or has missing
#'   values, from a verb also if a feature is of another kind than in training, if the response is missing or also a
#'   feature, or if the data has no rows or no features.
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_sharding_error`, from a verb, if the batch cannot be divided over the replicas.
#' @references <https://www.tensorflow.org/guide/estimator>. The interface follows tfestimators' `input_fn()`.
#' @seealso [input_dataset()] for your own `tf.data.Dataset`.
#' @examples
#' input_fn(mtcars, features = c(wt, hp), response = mpg, batch_size = 16)
#' input_fn(mpg ~ . - qsec, mtcars, epochs = NULL, seed = 1)
#'
#' # Missing values are an error unless `impute` replaces them.
#' input_fn(airquality, features = c(Solar.R, Wind), response = Temp, impute = list(Solar.R = 0))
#' @export
input_fn <- function(object, ...) {
  check_required()
  UseMethod("input_fn")
}

#' @export
input_fn.default <- function(object, ...) {
  if (is_dataset(object)) {
    return(input_fn.tf_dataset(object, ...))
  }
  if (is_spark_table(object)) {
    return(spark_input(spark_table(object), ...))
  }
  abort_not_data(
    object,
    "object",
    expected = "a data frame, a matrix, a named list or a formula",
    remedy = if (is.function(object) || is_python_object(object)) {
      "Give a function that returns a tf.data.Dataset to input_dataset(), or straight to the verb."
    } else {
      "Put the examples into a data frame, one per row."
    }
  )
}

# Describe columns in memory. Only the columns in `features`, `response` and `weights` are kept, without a copy.
# `source` is for printing. The settings are arguments of the constructor.
new_in_memory_input <- function(
  data,
  features,
  response,
  source,
  weights = NULL,
  settings,
  impute = NULL,
  factors = NULL,
  transform = NULL,
  may_be_empty = FALSE
) {
  settings <- describe("input", "mapped", settings)
  if (!is.null(factors)) {
    factors <- check_choice(factors, c("labels", "codes"))
  }
  check_chosen(data, features, response)
  check_weights_apart(weights, features, response)
  features <- c(features, weights)
  sparse <- intersect(features, sparse_names(data))
  if (!is.matrix(data)) {
    data <- lapply(unclass_list(as.list(data))[c(features, response)], as_r_array)
    # The verb rejects a missing weight, with its row.
    data[weights] <- lapply(data[weights], with_missing_number)
    data <- c(with_sparse_columns(data[features]), data[response])
    features <- setdiff(names(data), response)
  }
  rows <- check_rows(data, may_be_empty)
  keeps <- keeps_missing(impute)
  if (keeps) {
    impute <- NULL
    data <- if (is.matrix(data)) as.data.frame(data) else data
    data[features] <- lapply(data[features], with_missing)
  }
  columns <- lapply(c(features, response), function(name) {
    describe_column(
      input_column(data, name),
      name,
      factors,
      is_response = identical(name, response)
    )
  })
  names(columns) <- c(features, response)
  imputed <- check_impute(impute, data, columns[setdiff(names(columns), weights)], response)
  columns <- replace(columns, names(imputed$columns), imputed$columns)
  filled <- if (keeps) features else union(names(imputed$values), names(imputed$computed))
  check_missing(data, columns, response, impute, c(filled, if (!is.matrix(data)) weights))
  source <- rlang::inject(new_description(
    "input",
    "in_memory",
    data = data,
    columns = columns,
    response = response,
    !!!unclass(settings)[c("batch_size", "epochs", "shuffle", "seed")],
    impute = imputed$values,
    computed = imputed$computed,
    rows = rows,
    keeps_missing = keeps,
    sparse = sparse,
    source = source
  ))
  transformed_input(source, weights, transform)
}

check_chosen <- function(data, features, response) {
  if (length(features) == 0) {
    abort_tfdistribute(
      "input",
      problem = "No features were chosen.",
      remedy = "Name at least one column in `features`.",
      argument = "features"
    )
  }
  both <- intersect(features, response)
  if (length(both) > 0) {
    abort_tfdistribute(
      "input",
      problem = "The column `{both[[1]]}` is both a feature and the response.",
      remedy = "Leave it out of the features, for example features = -`{both[[1]]}`.",
      argument = "features",
      value = both[[1]]
    )
  }
}

# Everything but the data, because Python requests the values of one column at a time.
#' @export
as_wire.tfdistribute_in_memory_input <- function(x) {
  check_replaced(x)
  collect <- new_garbage_collector()
  columns <- lapply(unname(x$columns), function(column) {
    fields <- lapply(column[c("name", "type", "shape", "levels", "as_labels")], as_wire)
    reader <- column_reader(x$data, column, x$impute[[column$name]], collect)
    fields$fill <- x$replacements[[column$name]]
    fields$term <- x$terms[[column$name]]
    c(fields, list(values = guard_callback(reader, compared = FALSE)))
  })
  fields <- lapply(
    x[c("kind", "response", "batch_size", "epochs", "shuffle", "seed")],
    as_wire
  )
  c(fields, list(columns = columns))
}

# An input is described from its data, so a single field cannot be checked without the other fields.
#' @export
`$<-.tfdistribute_input` <- function(x, name, value) {
  abort_tfdistribute(
    "argument",
    problem = "`{name}` of an input cannot be changed.",
    remedy = "Describe the input again with this value.",
    value = show_value(value)
  )
}

#' @export
`[[<-.tfdistribute_input` <- `$<-.tfdistribute_input`

#' @export
format.tfdistribute_in_memory_input <- function(x, ...) {
  shown <- vapply(x$columns, show_column, "")
  is_response <- names(x$columns) %in% x$response
  features <- strwrap(toString(first_of(shown[!is_response])), width = 66)
  format_input(
    x,
    paste(x$source, "of", count_rows(x$rows)),
    features = paste(features, collapse = paste0("\n", strrep(" ", 14))),
    response = if (any(is_response)) shown[is_response]
  )
}

# Lines of a printed input: a title, and a line for each field that it has.
format_input <- function(
  x,
  title,
  ...,
  features = toString(x$features %||% "all columns but the response"),
  response = x$response
) {
  fields <- list(
    features = features,
    response = response,
    ...,
    batch_size = if (!is.null(x$batch_size)) paste(x$batch_size, "over all replicas"),
    epochs = x$epochs %||% "without end",
    shuffle = if ("shuffle" %in% names(x)) {
      if (is.logical(x$shuffle)) x$shuffle else "for training only"
    },
    seed = x$seed,
    impute = if (length(x$impute) > 0) format_values(x$impute),
    on_bad_row = if (identical(x$on_bad_row, "skip")) "skip"
  )
  fields <- Filter(Negate(is.null), fields)
  c(paste("<input>", title), paste0("  ", format(names(fields), width = 12), unlist(fields)))
}

format_values <- function(values) {
  toString(paste(names(values), "=", vapply(values, show_value, "")))
}

format_paths <- function(paths) {
  paste0(quoted(utils::head(paths, 3)), if (length(paths) > 3) ", ...")
}

show_column <- function(column) {
  labels <- length(column$levels)
  what <- if (labels == 0) column$type else interpolate("{labels} label{?s}")
  if (length(column$shape) > 0) {
    what <- paste0(what, ", ", paste(column$shape, collapse = " x "), " per row")
  }
  paste0(column$name, " (", what, ")")
}

count_rows <- function(rows) {
  interpolate("{format(rows, big.mark = ',', scientific = FALSE)} {cli::qty(rows)}row{?s}")
}
