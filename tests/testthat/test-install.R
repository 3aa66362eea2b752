test_that("the packages that a version of TensorFlow needs are installed", {
  expect_identical(
    python_packages(),
    c(
      "tensorflow==2.21.*",
      "tf_keras==2.21.*",
      "tensorboard",
      if (reads_numpy_2()) c("numpy", "pyarrow") else c("numpy<2", "pyarrow<21"),
      "tensorflow-estimator==2.15.0",
      "google-crc32c"
    )
  )
  expect_identical(
    python_packages("2.15"),
    c(
      "tensorflow-cpu==2.15.*",
      "numpy<2",
      "pyarrow<21",
      "tensorflow-estimator==2.15.0",
      "google-crc32c"
    )
  )
  expect_identical(
    python_packages("2.18.1"),
    c(
      "tensorflow==2.18.1",
      "tf_keras==2.18.*",
      "tensorboard",
      if (reads_numpy_2()) c("numpy", "pyarrow") else c("numpy<2", "pyarrow<21"),
      "tensorflow-estimator==2.15.0",
      "google-crc32c"
    )
  )
})

test_that("no list installs two TensorFlows over each other", {
  for (version in names(newest_python)) {
    for (gpu in c(TRUE, FALSE)) {
      packages <- python_packages(version, gpu)
      tensorflow <- grep("^tensorflow(-cpu)?(\\[.*\\])?==", packages, value = TRUE)
      expect_length(tensorflow, 1)
      expect_identical(startsWith(tensorflow, "tensorflow[and-cuda]"), gpu)
      # tf_keras requires the package of the name tensorflow.
      expect_false(startsWith(tensorflow, "tensorflow-cpu") && any(grepl("^tf_keras", packages)))
    }
  }
})

test_that("the range of Python versions follows TensorFlow's builds", {
  expect_identical(python_range(), ">=3.10,<3.14")
  expect_identical(python_range("2.18.1"), ">=3.10,<3.13")
  expect_identical(python_range("2.15"), ">=3.10,<3.12")
})

test_that("reticulate is told the packages of the version in the options", {
  declared <- NULL
  declare <- function(packages, python_version) {
    declared <<- list(packages = packages, python_version = python_version)
  }
  withr::local_options(tfdistribute.tensorflow = "2.15")
  declare_python_packages(declare)
  expect_identical(declared$packages, python_packages("2.15", has_nvidia_driver()))
  expect_identical(declared$python_version, ">=3.10,<3.12")
  withr::local_options(tfdistribute.tensorflow = "2.9")
  expect_error(
    declare_python_packages(declare),
    "`options(tfdistribute.tensorflow)` must be \"newest\", or a version from",
    fixed = TRUE,
    class = "tfdistribute_argument_error"
  )
})

test_that("arguments are checked before anything is installed", {
  expect_error(install_tfdistribute(envname = ""), class = "tfdistribute_argument_error")
  expect_error(install_tfdistribute(version = "2.9"), class = "tfdistribute_argument_error")
  expect_error(install_tfdistribute(gpu = "maybe"), class = "tfdistribute_argument_error")
  expect_error(install_tfdistribute(python = 3), class = "tfdistribute_argument_error")
})

test_that("a Python that TensorFlow cannot use is refused with its path and the versions that fit", {
  expect_snapshot(error = TRUE, {
    install_tfdistribute("unused", "2.15", gpu = FALSE, python = "/no/such/python", ask = FALSE)
    install_tfdistribute("unused", "newest", gpu = FALSE, python = "/no/such/python", ask = FALSE)
  })
})

# A program that answers as a Python of this minor version.
fake_python <- function(minor, folder = withr::local_tempdir(.local_envir = parent.frame())) {
  path <- file.path(folder, sprintf("python3.%d", minor))
  # The upper limit is the last number of the test.
  writeLines(
    c("#!/bin/sh", sprintf("limit=${2##*, }; [ ${limit%%%%)*} -ge %d ]", minor)),
    path
  )
  Sys.chmod(path, "755")
  path
}

test_that("a Python is taken if TensorFlow has builds for it", {
  newer <- fake_python(13)
  expect_identical(find_python(newer), newer)
  expect_error(find_python(newer, "2.15"), class = "tfdistribute_backend_error")
  expect_error(find_python(fake_python(14)), class = "tfdistribute_backend_error")
})

test_that("a suitable Python is found where there is one", {
  skip_if_no_tensorflow()
  expect_true(file.exists(find_python()))
})

test_that("`lock = TRUE` is for the versions of the tests, on CPUs", {
  expect_snapshot(error = TRUE, {
    install_tfdistribute("unused", "2.16", gpu = FALSE, lock = TRUE, ask = FALSE)
    install_tfdistribute("unused", gpu = TRUE, lock = TRUE, ask = FALSE)
    install_tfdistribute("unused", lock = "yes")
  })
})

# A Python that makes an environment whose pip notes in the file "pip" how it is called.
noting_python <- function(folder) {
  python <- file.path(folder, "python3.11")
  code <- c(
    "#!/bin/sh",
    "case \"$2\" in",
    "  venv) mkdir -p \"$3/bin\" && touch \"$3/pyvenv.cfg\" \"$3/bin/activate\" && cp \"$0\" \"$3/bin/python\" ;;",
    sprintf("  pip) echo \"$*\" >>%s/pip ;;", folder),
    "esac"
  )
  writeLines(code, python)
  Sys.chmod(python, "755")
  python
}

test_that("`lock = TRUE` installs the list of the tests and nothing else, and `requirements` another one", {
  folder <- withr::local_tempdir()
  install <- function(name, ...) {
    environment <- file.path(folder, name)
    python <- noting_python(folder)
    utils::capture.output(suppressMessages(
      install_tfdistribute(environment, gpu = FALSE, python = python, ..., ask = FALSE)
    ))
  }
  install("a", lock = TRUE)
  list <- system.file("tested-packages", "2.21.txt", package = "tfdistribute", mustWork = TRUE)
  own <- withr::local_tempfile(lines = c("numpy==1.26.4", "tensorflow-cpu==2.15.1"))
  install("b", requirements = own)
  expect_identical(
    readLines(file.path(folder, "pip")),
    paste("-m pip install --no-deps --requirement", c(list, own))
  )
  expect_error(
    install("c", requirements = file.path(folder, "none")),
    class = "tfdistribute_argument_error"
  )
  expect_error(install("d", requirements = own, lock = TRUE), "`lock`", fixed = TRUE)
})

# A package of the list, as pip names it.
pinned_in <- function(lines) {
  lines <- grep("^#|python_version", lines, value = TRUE, invert = TRUE)
  sort(tolower(gsub("[-_.]+(?=[^=]*==)", "-", lines, perl = TRUE)))
}

if (checks_all()) {
  test_that("an environment with `lock = TRUE` has the tested version of every package", {
    skip_if_no_tensorflow()
    environment <- file.path(withr::local_tempdir(), "environment")
    utils::capture.output(suppressMessages(
      python <- install_tfdistribute(environment, gpu = FALSE, lock = TRUE, ask = FALSE)
    ))
    found <- processx::run(python, c("-m", "pip", "freeze", "--all"))$stdout
    found <- pinned_in(strsplit(found, "\n")[[1]])
    tested <- readLines(system.file("tested-packages", "2.21.txt", package = "tfdistribute"))
    expect_identical(setdiff(pinned_in(tested), found), character())
    expect_identical(
      processx::run(python, c("-c", "import tensorflow"), error_on_status = FALSE)$status,
      0L
    )
  })
}

test_that("ydf is installed where TensorFlow supports its protobuf", {
  expect_identical(trees_package("2.20"), "ydf>=0.16")
  expect_error(
    install_tfdistribute(version = "2.18", trees = TRUE, ask = FALSE),
    "`trees` must be FALSE with TensorFlow 2.18",
    class = "tfdistribute_argument_error"
  )
})
