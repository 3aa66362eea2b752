# Calls of every exported function.

# Valid values of arguments without a default.
required_values <- function() {
  word <- column_categorical_with_hash_bucket("word", hash_bucket_size = 10)
  input <- input_fn(mpg ~ wt, mtcars)
  list(
    boundaries = c(0, 1),
    build = function(params) NULL,
    categorical_column = word,
    checkpoint_dir = "model",
    cluster = address_cluster(chief = "a:1"),
    columns = c("a", "b"),
    config = run_config(),
    data = mtcars,
    default = "1",
    description = "A flag.",
    device = "CPU:0",
    dim = 2L,
    dimension = 2,
    dnn_hidden_units = 4,
    eval_spec = eval_spec(input),
    export_dir_base = "export",
    expr = 1,
    feature_columns = column_numeric("wt"),
    features = "wt",
    fn = function() NULL,
    hash_bucket_size = 10,
    hidden_units = 4,
    index = 1,
    input = input,
    input_fn = input,
    job = structure(list(id = "1"), class = "tfdistribute_job"),
    keys = c("a", "b"),
    label_key = "label",
    mode = "train",
    model = linear_regressor(column_numeric("wt")),
    model_fn = function(features, labels) NULL,
    n_batches_per_layer = 1,
    name = "x",
    num_buckets = 3,
    object = linear_regressor(column_numeric("wt")),
    path = "folder",
    paths = "file",
    rows = mtcars,
    source_column = column_numeric("x"),
    tensors = "loss",
    train_spec = train_spec(input),
    train_step = function(parts, features, labels, step) NULL,
    vocabulary_file = "words.txt",
    vocabulary_list = c("a", "b"),
    wait_until_step = 1,
    weight_feature_key = "weight",
    workers = 2,
    x = 1:2
  )
}

# Further arguments, for functions that need one of several.
needed_values <- function(name) {
  switch(
    name,
    address_cluster = list(chief = "a:1"),
    job_find = list(model_dir = "model"),
    ssh_cluster = list(hosts = "a"),
    slurm_cluster = list(nodes = 2),
    ray_cluster = list(workers = 2),
    mirai_cluster = list(workers = 2),
    spark_cluster = list(sc = "sc://localhost:15002", workers = 2),
    kubernetes_cluster = list(image = "a"),
    vertex_cluster = list(
      project = "ab",
      location = "a1",
      image = "a",
      staging = "gs://b/c"
    ),
    dnn_linear_combined_classifier = ,
    dnn_linear_combined_regressor = list(linear_feature_columns = column_numeric("wt")),
    hook_checkpoint_saver = ,
    hook_summary_saver = list(every_n_steps = 1),
    hook_logging_tensor = list(every_n_steps = 1),
    hook_profiler = list(steps = 1:2),
    hook_stop_at_step = list(num_steps = 1),
    flag_numeric = ,
    flag_integer = list(default = 1),
    flag_boolean = list(default = TRUE),
    input_fn = list(object = mtcars),
    launch = list(cluster = local_cluster(2)),
    write_manifest = list(
      object = linear_regressor(
        column_numeric("wt"),
        config = run_config(cluster = kubernetes_cluster(workers = 2, image = "a"))
      )
    ),
    input_layer = list(features = list(wt = 1)),
    as_python = list(x = run_config()),
    keras_model_to_estimator = list(keras_model = function() NULL),
    numpy_input_fn = list(x = list(x = 1:2)),
    tfdistribute_fit = ,
    tfdistribute_mlp = ,
    tfdistribute_trees = list(x = mtcars["wt"], y = mtcars$mpg),
    if (grepl("^column_(numeric|categorical_with)", name)) list("x") else list()
  )
}

# Those that install, choose or start programs, are refused whatever they are given, or work in a model function only.
not_called <- c(
  "install_tensorflow",
  "install_tfdistribute",
  "pipeline",
  "tensorboard"
)

exported_functions <- function() {
  namespace <- asNamespace("tfdistribute")
  is_own <- function(name) {
    value <- get(name, namespace)
    is.function(value) && identical(environment(value), namespace)
  }
  sort(Filter(is_own, getNamespaceExports(namespace)))
}

# Arguments of a function; of a generic, those of its method for this package's objects.
arguments_of <- function(name) {
  namespace <- asNamespace("tfdistribute")
  methods <- paste0(
    name,
    c("", ".tfdistribute_estimator", ".tfdistribute_run_config", ".data.frame")
  )
  found <- Filter(function(method) exists(method, namespace, inherits = FALSE), methods)
  formals(get(utils::tail(found, 1), namespace))
}

is_required_argument <- function(default) identical(default, quote(expr = ))

valid_call <- function(name, values = required_values()) {
  formals <- arguments_of(name)
  required <- setdiff(names(Filter(is_required_argument, formals)), "...")
  needed <- needed_values(name)
  c(needed, values[setdiff(required, names(needed))])
}
