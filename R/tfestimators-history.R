# The names that tfestimators uses for the parts of a history.

#' @export
`$.tfdistribute_history` <- function(x, name) {
  losses <- .subset2(x, "losses")
  switch(
    name,
    step = losses$step,
    params = list(metrics = loss_names, steps = utils::tail(losses$step, 1)),
    .subset2(x, name)
  )
}

# tfestimators records the mean and the sum of TensorFlow's losses, but an Estimator has only one of them.
loss_names <- c("mean_losses", "total_losses")

#' @export
`$.tfdistribute_losses` <- function(x, name) {
  .subset2(x, if (name %in% loss_names) "loss" else name)
}
