# The model functions of tests/python/support/equality_models.py, written in R: each builds the same graph.

glorot <- function(seed) {
  tf$compat$v1$glorot_uniform_initializer(seed = seed)
}

hidden_layer <- function(features) {
  layer <- tf$compat$v1$layers$dense
  layer(features$x, 8L, activation = tf$nn$relu, kernel_initializer = glorot(21L))
}

output_and_loss <- function(hidden, labels) {
  output <- tf$compat$v1$layers$dense(hidden, 1L, kernel_initializer = glorot(31L))
  list(output = output, loss = tf$compat$v1$losses$mean_squared_error(labels, output))
}

global_step <- function() {
  tf$compat$v1$train$get_or_create_global_step()
}

# `train` makes the train_op, in mode "train" only.
equal_spec <- function(mode, loss, output, labels, train) {
  if (mode == "train") {
    return(estimator_spec(mode, loss = loss, train_op = train()))
  }
  metrics <- tf$compat$v1$metrics
  positive <- tf$greater(labels, 0)
  estimator_spec(
    mode,
    loss = loss,
    predictions = list(output = output),
    eval_metric_ops = list(
      mean_absolute_error = metrics$mean_absolute_error(labels, output),
      accuracy = metrics$accuracy(positive, tf$greater(output, 0)),
      auc = metrics$auc(positive, tf$sigmoid(output))
    )
  )
}

dense_with_sgd <- function(features, labels, mode) {
  made <- output_and_loss(hidden_layer(features), labels)
  optimizer <- tf$compat$v1$train$GradientDescentOptimizer(0.05)
  equal_spec(mode, made$loss, made$output, labels, function() {
    optimizer$minimize(made$loss, global_step = global_step())
  })
}

batch_norm_with_adam <- function(features, labels, mode) {
  normalize <- tf$compat$v1$layers$batch_normalization
  made <- output_and_loss(normalize(hidden_layer(features), training = mode == "train"), labels)
  equal_spec(mode, made$loss, made$output, labels, function() {
    updates <- tf$compat$v1$get_collection(tf$compat$v1$GraphKeys$UPDATE_OPS)
    with(tf$control_dependencies(updates), {
      tf$compat$v1$train$AdamOptimizer(0.01)$minimize(made$loss, global_step = global_step())
    })
  })
}

keras_layers <- function(features, labels, mode) {
  start <- tf$keras$initializers$GlorotUniform
  network <- tf$keras$Sequential(list(
    tf$keras$layers$Dense(8L, "relu", kernel_initializer = start(3L)),
    tf$keras$layers$Dense(1L, kernel_initializer = start(4L))
  ))
  output <- network(features$x, training = mode == "train")
  loss <- tf$reduce_mean(tf$pow(tf$subtract(labels, output), 2))
  equal_spec(mode, loss, output, labels, function() {
    optimizer <- tf$keras$optimizers$legacy$Adam(0.01)
    optimizer$iterations <- global_step()
    optimizer$get_updates(loss, network$trainable_variables)[[1]]
  })
}

clipped_momentum <- function(features, labels, mode) {
  made <- output_and_loss(hidden_layer(features), labels)
  equal_spec(mode, made$loss, made$output, labels, function() {
    optimizer <- tf$compat$v1$train$MomentumOptimizer(0.02, 0.9)
    pairs <- optimizer$compute_gradients(made$loss)
    clipped <- tf$clip_by_global_norm(lapply(pairs, `[[`, 1), 1)[[1]]
    pairs <- Map(list, clipped, lapply(pairs, `[[`, 2))
    optimizer$apply_gradients(unname(pairs), global_step = global_step())
  })
}

all_reduce_in_model <- function(features, labels, mode) {
  hidden <- hidden_layer(features)
  replica <- tf$distribute$get_replica_context()
  over_replicas <- function(x) replica$all_reduce(tf$distribute$ReduceOp$MEAN, x)
  mean <- over_replicas(tf$reduce_mean(hidden, 0L))
  squares <- tf$reduce_mean(tf$pow(tf$subtract(hidden, mean), 2), 0L)
  deviation <- tf$sqrt(tf$add(over_replicas(squares), 0.01))
  made <- output_and_loss(tf$divide(tf$subtract(hidden, mean), deviation), labels)
  optimizer <- tf$compat$v1$train$GradientDescentOptimizer(0.05)
  equal_spec(mode, made$loss, made$output, labels, function() {
    optimizer$minimize(made$loss, global_step = global_step())
  })
}

embedding_with_adagrad <- function(features, labels, mode) {
  scaled <- tf$cast(tf$multiply(tf$abs(features$x), 3), tf$int64)
  identifiers <- tf$math$floormod(scaled, tf$constant(10L, tf$int64))
  table <- tf$compat$v1$get_variable("embedding", list(10L, 4L), initializer = glorot(5L))
  embedded <- tf$reshape(tf$nn$embedding_lookup(table, identifiers), list(-1L, 16L))
  made <- output_and_loss(tf$concat(list(embedded, features$x), 1L), labels)
  optimizer <- tf$compat$v1$train$AdagradOptimizer(0.1)
  equal_spec(mode, made$loss, made$output, labels, function() {
    optimizer$minimize(made$loss, global_step = global_step())
  })
}

two_optimizers <- function(features, labels, mode) {
  layer <- tf$compat$v1$layers$dense
  wide <- layer(features$x, 1L, kernel_initializer = glorot(6L), name = "wide")
  deep <- with(tf$compat$v1$variable_scope("deep"), {
    output_and_loss(hidden_layer(features), labels)$output
  })
  output <- tf$add(wide, deep)
  loss <- tf$compat$v1$losses$mean_squared_error(labels, output)
  equal_spec(mode, loss, output, labels, function() {
    variables_of <- function(part) {
      Filter(function(v) startsWith(v$name, part), tf$compat$v1$trainable_variables())
    }
    train <- tf$compat$v1$train
    updates <- list(
      train$FtrlOptimizer(0.05)$minimize(loss, var_list = variables_of("wide")),
      train$RMSPropOptimizer(0.01)$minimize(loss, var_list = variables_of("deep"))
    )
    with(tf$control_dependencies(updates), {
      tf$group(updates, tf$compat$v1$assign_add(global_step(), 1L))
    })
  })
}

loss_scale <- function(features, labels, mode) {
  made <- output_and_loss(hidden_layer(features), labels)
  inner <- tf$compat$v1$train$GradientDescentOptimizer(0.05)
  scaling <- tf$compat$v1$mixed_precision$MixedPrecisionLossScaleOptimizer
  optimizer <- scaling(inner, 128)
  equal_spec(mode, made$loss, made$output, labels, function() {
    optimizer$minimize(made$loss, global_step = global_step())
  })
}

equality_models <- list(
  dense_with_sgd = dense_with_sgd,
  batch_norm_with_adam = batch_norm_with_adam,
  keras_layers = keras_layers,
  clipped_momentum = clipped_momentum,
  all_reduce_in_model = all_reduce_in_model,
  embedding_with_adagrad = embedding_with_adagrad,
  two_optimizers = two_optimizers,
  loss_scale = loss_scale
)
