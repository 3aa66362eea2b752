# Experiment trackers.

#' Log a training to MLflow or Weights & Biases
#'
#' A tracker in [run_config()] logs the parameters of the model, and losses and metrics by step, to a run of MLflow or
#' of Weights & Biases, with their own Python clients. The process that trains logs, which is the chief in a cluster. A
#' training waits for the client when it records losses, by default every 100 steps. A tracker is a plain R value.
#'
#' @section Runs:
#' A run belongs to a `model_dir`, where `tfdistribute-run.json` has its id, so later trainings there continue the run.
#' If a task restarts, the steps since the newest checkpoint are logged again. Metrics of evaluations have the prefix
#' `val_`. The evaluator of a cluster logs them at its end. Another server, experiment or project begins a new run.
#'
#' @section Packages and credentials:
#' `track_mlflow()` needs the Python package mlflow-skinny, and sqlalchemy and alembic for a `tracking_uri` such as
#' `"sqlite:///mlflow.db"`. `track_wandb()` needs wandb. In a cluster, the hosts or images need them. Credentials are
#' never part of a tracker. Use `wandb login`, or environment variables such as `WANDB_API_KEY` and
#' `MLFLOW_TRACKING_TOKEN`. The tasks of a [local_cluster()] have them and an open network, and an [ssh_cluster()] takes
#' them as `environment`.
#'
#' @eval help_of("track_mlflow", "track_wandb")
#' @returns A description of class `tfdistribute_mlflow_tracker` or `tfdistribute_wandb_tracker`,
#'   `tfdistribute_tracker`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type.
#' * `tfdistribute_backend_error`, from a verb before it trains, if the Python package is missing.
#' * `tfdistribute_run_config_error`, from a verb before it trains, if the server does not answer or rejects the run.
#' @references <https://mlflow.org/docs/latest/ml/tracking/>, <https://docs.wandb.ai/guides/track/>
#' @seealso [run_config()], [history], [view_training()]
#' @examples
#' run_config(track = track_mlflow("diamonds", tracking_uri = "sqlite:///mlflow.db"))
#' run_config(track = track_wandb("diamonds", mode = "offline"))
#' @name trackers
NULL

#' @rdname trackers
#' @export
track_mlflow <- function(
  # Fields of tracker$mlflow
  experiment = NULL,
  tracking_uri = NULL,
  run_name = NULL,
  log_model = FALSE,
  ...
) {
  check_call(...)
  describe("tracker", "mlflow", as.list(environment()))
}

#' @rdname trackers
#' @export
track_wandb <- function(
  # Fields of tracker$wandb
  project = NULL,
  entity = NULL,
  run_name = NULL,
  mode = c("online", "offline"),
  log_model = FALSE,
  ...
) {
  check_call(...)
  describe("tracker", "wandb", as.list(environment()))
}

#' @export
format.tfdistribute_tracker <- function(x, ...) {
  fields <- Filter(Negate(is.null), unclass_list(x))
  paste0("track_", x$kind, "(", toString(format_fields(fields[names(fields) != "kind"])), ")")
}
