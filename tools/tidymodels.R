# Tune and fit models with the real parsnip, workflows and tune:
#   tools/env Rscript tools/tidymodels.R
# These packages are not in Debian, so the script installs them from source, from CRAN or from the mirror in
# CRAN_MIRROR, into .environment/tidymodels-library. It needs the internet and takes about ten minutes the first time.
# Where parsnip is not installed, tests use a stand-in of its functions (helper-parsnip.R).
packages <- c("parsnip", "workflows", "tune", "dials", "rsample", "yardstick")
library <- ".environment/tidymodels-library"
dir.create(library, recursive = TRUE, showWarnings = FALSE)
.libPaths(c(library, .libPaths()))

missing <- setdiff(packages, rownames(installed.packages()))
if (length(missing) > 0) {
  mirror <- Sys.getenv("CRAN_MIRROR", "https://cloud.r-project.org")
  known <- suppressWarnings(rownames(available.packages(repos = mirror)))
  if (!all(missing %in% known)) {
    stop(
      "These packages are not at ",
      mirror,
      ": ",
      toString(setdiff(missing, known)),
      call. = FALSE
    )
  }
  install.packages(missing, library, repos = mirror, type = "source", Ncpus = 2)
}
for (package in c("tfdistribute", packages)) {
  suppressPackageStartupMessages(library(package, character.only = TRUE))
  cat(package, format(packageVersion(package)), "\n")
}

options(tfdistribute.progress = FALSE)
set.seed(1)
diamonds <- transform(as.data.frame(ggplot2::diamonds), price = price / 1000)
diamonds <- diamonds[sample(nrow(diamonds), 3000), c("carat", "depth", "table", "cut", "price")]
baseline <- sqrt(mean(residuals(lm(price ~ ., diamonds))^2))

# Every engine with each argument of its model, given and left out; and all that it accepts at once.
values <- list(
  hidden_units = 3L,
  penalty = 0.01,
  dropout = 0.1,
  epochs = 2L,
  activation = "tanh",
  learn_rate = 0.02
)
cars <- transform(mtcars, gear = factor(gear), am = factor(am))
fits <- 0
for (model in c("linear_reg", "logistic_reg", "multinom_reg", "mlp")) {
  known <- get_from_env(paste0(model, "_args"))
  arguments <- known$parsnip[known$engine == "tfdistribute"]
  # parsnip refuses a penalty with dropout.
  together <- list(setdiff(arguments, "penalty"), setdiff(arguments, "dropout"))
  for (mode in subset(get_from_env(model), engine == "tfdistribute")$mode) {
    outcome <- if (mode == "regression") {
      "mpg"
    } else if (model == "logistic_reg") {
      "am"
    } else {
      "gear"
    }
    for (given in unique(c(list(character()), as.list(arguments), together))) {
      spec <- do.call(model, c(list(mode = mode), values[given])) |> set_engine("tfdistribute")
      fitted <- fit(spec, stats::reformulate(c("wt", "hp", "cyl"), outcome), cars)
      fits <- fits + 1
      found <- augment(fitted, cars)
      stopifnot("a prediction is missing" = nrow(found) == 32, !anyNA(found))
    }
  }
}
cat(fits, "fits of all engines with and without arguments of their models\n")

# Three folds, two devices.
model <- mlp(hidden_units = tune(), epochs = 10, learn_rate = 0.01) |>
  set_engine("tfdistribute", strategy = strategy_mirrored(devices = 2), batch_size = 64) |>
  set_mode("regression")
flow <- workflow() |>
  add_formula(price ~ .) |>
  add_model(model)
found <- tune_grid(flow, vfold_cv(diamonds, v = 3), grid = data.frame(hidden_units = c(2L, 32L)))
print(show_best(found, metric = "rmse"))
notes <- do.call(rbind, found$.notes)
stopifnot("a fit failed" = nrow(notes) == 0, nrow(collect_metrics(found)) == 4)
best <- fit(finalize_workflow(flow, select_best(found, metric = "rmse")), diamonds)
rmse <- sqrt(mean((predict(best, diamonds)$.pred - diamonds$price)^2))
cat("rmse of the best", rmse, "of lm()", baseline, "\n")
stopifnot("no better than lm()" = rmse < baseline)

# Two processes.
model <- mlp(hidden_units = 32, epochs = 10, learn_rate = 0.01) |>
  set_engine(
    "tfdistribute",
    strategy = strategy_multi_worker(),
    cluster = local_cluster(workers = 2),
    batch_size = 64
  ) |>
  set_mode("regression")
fitted <- fit(workflow() |> add_formula(price ~ .) |> add_model(model), diamonds)
file <- tempfile(fileext = ".rds")
saveRDS(fitted, file)
stopifnot(identical(predict(readRDS(file), diamonds), predict(fitted, diamonds)))
rmse <- sqrt(mean((predict(fitted, diamonds)$.pred - diamonds$price)^2))
cat("rmse with two workers", rmse, "\n")
stopifnot("no better than lm()" = rmse < baseline)
