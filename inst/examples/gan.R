# A generative adversarial network: two networks, each with an optimizer of its own, trained against each other on every
# device of this machine. The generator learns to draw points on a circle.

library(tfdistribute)

set.seed(1)
angle <- runif(2000, 0, 2 * pi)
circle <- data.frame(
  x = cos(angle) + rnorm(2000, sd = 0.05),
  y = sin(angle) + rnorm(2000, sd = 0.05)
)

network <- function(units, outputs) {
  layers <- tf$keras$layers
  hidden <- lapply(units, function(each) layers$Dense(each, activation = "relu"))
  tf$keras$Sequential(c(hidden, layers$Dense(outputs)))
}

points <- function(features) tf$stack(list(features$x, features$y), axis = 1L)

# A point for each example of the batch.
drawn <- function(parts, features) parts$generator(tf$random$normal(tf$shape(points(features))))

# How far the critic's judgements are from being right, for points that are all real or all drawn.
cross_entropy <- function(judged, is_real) {
  right <- if (is_real) tf$ones_like(judged) else tf$zeros_like(judged)
  tf$reduce_mean(tf$nn$sigmoid_cross_entropy_with_logits(labels = right, logits = judged))
}

gan <- function(config = NULL, model_dir = NULL) {
  training_loop(
    build = function() {
      adam <- function() tf$keras$optimizers$legacy$Adam(0.001, beta_1 = 0.5)
      list(
        generator = network(c(32L, 32L), 2L),
        critic = network(c(32L, 32L), 1L),
        optimizers = list(generator = adam(), critic = adam())
      )
    },
    train_step = function(parts, features) {
      tapes <- list(generator = tf$GradientTape(), critic = tf$GradientTape())
      losses <- with(
        tapes$generator,
        with(tapes$critic, {
          of_drawn <- parts$critic(drawn(parts, features))
          of_real <- parts$critic(points(features))
          list(
            generator = cross_entropy(of_drawn, is_real = TRUE),
            critic = tf$add(
              cross_entropy(of_real, is_real = TRUE),
              cross_entropy(of_drawn, is_real = FALSE)
            )
          )
        })
      )
      updates <- lapply(c("generator", "critic"), function(name) {
        variables <- parts[[name]]$trainable_variables
        gradients <- tapes[[name]]$gradient(losses[[name]], variables)
        parts$optimizers[[name]]$apply_gradients(Map(list, gradients, variables))
      })
      list(loss = losses$critic, train_op = updates, generator_loss = losses$generator)
    },
    eval_step = function(parts, features) {
      radius <- tf$norm(drawn(parts, features), axis = 1L)
      list(loss = tf$abs(tf$subtract(radius, 1)), radius = radius)
    },
    predict_step = function(parts, features) {
      made <- tf$unstack(drawn(parts, features), axis = 1L)
      list(x = made[[1]], y = made[[2]])
    },
    model_dir = model_dir,
    config = config
  )
}

if (sys.nframe() == 0) {
  model <- gan(run_config(strategy_mirrored()))
  history <- train(model, input_fn(circle, features = c(x, y), batch_size = 128, epochs = 200))
  print(history)
  print(evaluate(model, input_fn(circle, features = c(x, y))))
  drawn_points <- predict(model, input_fn(head(circle, 500), features = c(x, y)))
  plot(drawn_points, asp = 1, main = "Points that the generator draws")
}
