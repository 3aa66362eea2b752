image <- "registry.example.org/cars:1"

on_kubernetes <- function(..., workers = 2) kubernetes_cluster(image, workers, ...)

on_vertex <- function(..., project = "my-project", location = "europe-west4", workers = 2) {
  vertex_cluster(project, location, image, staging = "gs://bucket/jobs", workers = workers, ...)
}

cars_model <- function(cluster, model_dir = "gs://bucket/cars") {
  linear_regressor(
    feature_columns(column_numeric("wt", "hp")),
    model_dir = model_dir,
    config = run_config(strategy_multi_worker(), cluster = cluster, seed = 1)
  )
}

cars_spec <- function(max_steps = 20) {
  train_spec(
    input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL, seed = 1),
    max_steps = max_steps
  )
}

test_that("a printed cluster of containers shows no values of variables", {
  expect_snapshot({
    on_kubernetes()
    on_kubernetes(
      job_kind = "TrainJob",
      queue = "team-queue",
      ps = 1,
      gpus = 1,
      cpus = 2,
      memory = "16Gi",
      volumes = c("/models" = "models-claim"),
      environment = c(TOKEN = "secret"),
      time_limit_s = 3600
    )
    on_vertex()
    on_vertex(accelerator = "NVIDIA_TESLA_T4", accelerators = 2, evaluator = FALSE)
  })
})

test_that("a cluster of containers is a plain value that can be saved and changed", {
  file <- withr::local_tempfile()
  described <- on_kubernetes(volumes = c("/models" = "claim"))
  saveRDS(described, file)
  expect_identical(readRDS(file), described)
  described$gpus <- 2
  expect_identical(described$gpus, 2L)
  expect_identical(described$job_kind, "Job")
  described$job_kind <- "TFJob"
  expect_identical(described$job_kind, "TFJob")
  expect_identical(described$gpus, 2L)
  elsewhere <- on_vertex()
  elsewhere$location <- "us-central1"
  expect_identical(elsewhere$location, "us-central1")
})

test_that("an error in a cluster of containers names the argument", {
  expect_snapshot(error = TRUE, {
    on_kubernetes(workers = 0)
    on_kubernetes(job_kind = "Deployment")
    as_tf_config(on_kubernetes())
  })
})

test_that("a plan shows that a platform chooses the hosts", {
  skip_if_no_tensorflow()
  shown <- plan_training(cars_model(on_kubernetes()), cars_spec())
  expect_identical(unique(shown$host), "pods in namespace default")
  expect_identical(unique(shown$command), "Rscript -e 'tfdistribute:::run_task()'")
  printed <- capture.output(print(shown))
  expect_match(printed, "a namespace or a network that others cannot enter", all = FALSE)
  expect_false(any(grepl("iptables|32768", printed)))
})

read_manifest <- function(path) {
  jsonlite::fromJSON(path, simplifyVector = FALSE)
}

test_that("a manifest holds the whole job, and only its owner can read it", {
  skip_if_no_tensorflow()
  path <- withr::local_tempfile(fileext = ".json")
  expect_message(write_manifest(cars_model(on_kubernetes()), cars_spec(), path = path), NA)
  expect_identical(format(file.mode(path)), "600")
  documents <- read_manifest(path)$items
  expect_identical(vapply(documents, `[[`, "", "kind"), c("Secret", "Service", "Job"))
  names <- vapply(documents, function(each) each$metadata$name, "")
  expect_length(unique(names), 1)
  expect_identical(documents[[3]]$spec$completions, 2L)
})

test_that("with a staging directory, the archive is a file beside the manifest", {
  skip_if_no_tensorflow()
  path <- withr::local_tempfile(fileext = ".json")
  evaluation <- eval_spec(input_fn(mpg ~ wt + hp, mtcars))
  said <- capture_messages(
    write_manifest(cars_model(on_vertex()), cars_spec(), evaluation, path = path)
  )
  archive <- sub("json$", "tar.gz", path)
  expect_match(gsub("\\s+", "", paste(said, collapse = "")), archive, fixed = TRUE)
  expect_match(said, "gs://bucket/jobs/tfdistribute-", all = FALSE, fixed = TRUE)
  expect_setequal(
    setdiff(utils::untar(archive, list = TRUE), "task.rds"),
    grep("^data-[12]/", utils::untar(archive, list = TRUE), value = TRUE)
  )
  specification <- read_manifest(path)
  expect_length(specification$workerPoolSpecs, 4)
  expect_length(specification$workerPoolSpecs[[3]], 0)
})

test_that("what cannot become a manifest is told before anything is written", {
  skip_if_no_tensorflow()
  path <- withr::local_tempfile(fileext = ".json")
  input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL)
  expect_snapshot(error = TRUE, {
    write_manifest(cars_model(local_cluster(2)), cars_spec(), path = path)
    write_manifest(cars_model(on_kubernetes(), "/models/cars"), cars_spec(), path = path)
    train(
      cars_model(on_kubernetes(volumes = c("/models" = "claim")), "/models/cars"),
      input,
      steps = 5
    )
  })
  expect_false(file.exists(path))
})

test_that("a Dockerfile has steps that a shell understands", {
  path <- withr::local_tempfile()
  write_dockerfile(path, packages = "dplyr")
  lines <- readLines(path)
  steps <- strsplit(gsub("\\\\\n", "", paste(lines, collapse = "\n")), "\n", fixed = TRUE)[[1]]
  expect_true(all(grepl("^(#|ARG|FROM|RUN|COPY|ENV) ?", steps)))
  for (command in sub("^RUN ", "", grep("^RUN ", steps, value = TRUE))) {
    checked <- processx::run("sh", c("-n", "-c", command), error_on_status = FALSE)
    expect_identical(checked$status, 0L, info = command)
  }
  installed <- grep("install.packages", steps, value = TRUE)
  for (package in c("reticulate", "processx", "dplyr")) {
    expect_match(installed, paste0("\"", package, "\""), fixed = TRUE)
  }
  expect_match(steps, "\"tensorflow==2.21.*\"", all = FALSE, fixed = TRUE)
  expect_match(steps, "\"azure-storage-blob\" \"azure-identity\"", all = FALSE, fixed = TRUE)
  expect_snapshot(error = TRUE, {
    write_dockerfile(base = "a b")
    write_dockerfile(packages = "x'; rm -rf /")
    write_dockerfile(base = "a\nRUN touch x")
    write_dockerfile(packages = c("dplyr", "x\nRUN"))
    write_dockerfile("no such folder/Dockerfile")
  })
})

# A server for Kubernetes' protocol on this machine, and arguments with which kubectl would reach it.
local_kubernetes <- function(frame = parent.frame()) {
  support <- file.path(Sys.getenv("TFDISTRIBUTE_SOURCE"), "tests", "python")
  if (!dir.exists(support)) {
    skip_or_fail("The Python tests are not here.")
  }
  code <- paste(
    "import sys; sys.path.insert(0, sys.argv[1])",
    "from support.kubernetes_server import kubernetes_server",
    "with kubernetes_server() as server:",
    "    print(server.url, flush=True)",
    "    sys.stdin.read()",
    sep = "\n"
  )
  python <- python_in_use()
  server <- processx::process$new(python, c("-c", code, support), stdin = "|", stdout = "|")
  withr::defer(server$kill(), envir = frame)
  url <- character()
  expect_true(wait_until(
    function() {
      url <<- c(url, server$read_output_lines())
      length(url) > 0
    },
    20
  ))
  program <- file.path(support, "support", "kubernetes_server.py")
  c(python, program, "--server", url)
}

test_that("a job on Kubernetes is submitted, printed, and stopped by its handle", {
  skip_if_no_tensorflow()
  cluster <- on_kubernetes(kubectl = local_kubernetes(), volumes = c("/models" = "claim"))
  model <- cars_model(cluster, "/models/cars")
  job <- launch(model, cars_spec(), wait = FALSE)
  expect_match(job$id, "^tfdistribute-[0-9a-f]{8}$")
  # The handle is a plain value, also for another session.
  job <- unserialize(serialize(job, NULL))
  expect_match(format(job)[[1]], "starting")
  expect_identical(nrow(job_state(job)), 0L)
  expect_identical(job_logs(job), character())
  job_stop(job)
  expect_error(job_wait(job), "was stopped", class = "tfdistribute_training_error")
})

test_that("a container trains the weights that this session trains", {
  skip_if_no_tensorflow()
  path <- withr::local_tempfile(fileext = ".json")
  there <- withr::local_tempdir()
  cluster <- on_kubernetes(workers = 1, volumes = rlang::set_names("claim", there))
  write_manifest(cars_model(cluster, there), cars_spec(), path = path)
  documents <- read_manifest(path)$items
  archive <- withr::local_tempfile(fileext = ".tar.gz")
  writeBin(jsonlite::base64_dec(documents[[1]]$data[["job.tar.gz"]]), archive)
  container <- documents[[3]]$spec$template$spec$containers[[1]]
  variables <- rlang::set_names(
    vapply(container$env, `[[`, "", "value"),
    vapply(container$env, `[[`, "", "name")
  )
  variables[["TFDISTRIBUTE_ARCHIVE"]] <- archive
  # As Kubernetes sets it.
  variables[["JOB_COMPLETION_INDEX"]] <- "0"
  command <- unlist(container$command)
  expect_identical(command[1:4], c("python", "-m", "tfdistribute", "run-task"))
  ended <- processx::run(
    python_in_use(),
    command[-1],
    env = c(
      "current",
      variables,
      PYTHONPATH = system.file("python", package = "tfdistribute"),
      R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep),
      RETICULATE_PYTHON = python_in_use()
    ),
    timeout = 120,
    error_on_status = FALSE
  )
  expect_identical(ended$status, 0L, info = ended$stderr)
  here <- cars_model(NULL, withr::local_tempdir())
  here["config"] <- list(run_config(seed = 1))
  suppressWarnings(train(here, cars_spec()$input, max_steps = 20))
  far <- cars_model(NULL, there)
  for (name in variable_names(here)) {
    expect_identical(variable_value(far, name), variable_value(here, name))
  }
})
