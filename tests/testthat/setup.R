# What every test may rely on: plain text in snapshots, no progress bars, TensorFlow's chatter off, and
# messages that are the same on every machine.
withr::local_options(
  cli.unicode = FALSE,
  cli.num_colors = 1L,
  crayon.enabled = FALSE,
  tfdistribute.progress = FALSE,
  warnPartialMatchArgs = TRUE,
  warnPartialMatchDollar = TRUE,
  .local_envir = teardown_env()
)
withr::local_envvar(
  TF_CPP_MIN_LOG_LEVEL = "2",
  TF_CONFIG = NA,
  LANGUAGE = "en",
  .local_envir = teardown_env()
)
