# A package of `Suggests` that Debian lacks, until the test ends: the real one where it is installed, or else a
# stand-in. `make test-real` names a file that gets the names of the real packages that were used.
local_package <- function(name, code, frame = parent.frame()) {
  if (is_real(name)) {
    note_real(name)
  } else {
    local_stand_in(name, code, frame)
  }
}

note_real <- function(name) {
  file <- Sys.getenv("TFDISTRIBUTE_REAL")
  if (nzchar(file)) {
    write(name, file, append = TRUE)
  }
}

skip_if_no_real <- function(name) {
  testthat::skip_if_not(is_real(name), paste0("Left to `make test-real`: it needs ", name))
  note_real(name)
}

is_real <- function(name) {
  is_here(name) && is.null(utils::packageDescription(name)[["Config/stand-in"]])
}

# A package of this name that stands for one which is not on every machine, until the test ends. `code` are the lines of
# its functions, all of which it exports.
local_stand_in <- function(name, code, frame = parent.frame()) {
  if (isNamespaceLoaded(name)) {
    testthat::skip(paste("The real", name, "is loaded."))
  }
  folder <- withr::local_tempdir(.local_envir = frame)
  package <- file.path(folder, name)
  dir.create(file.path(package, "R"), recursive = TRUE)
  description <- c(
    paste("Package:", name),
    "Version: 1.0",
    "Config/stand-in: true",
    "Title: T",
    "Description: D.",
    "License: GPL-3"
  )
  writeLines(description, file.path(package, "DESCRIPTION"))
  writeLines("exportPattern(\"^[a-z]\")", file.path(package, "NAMESPACE"))
  writeLines(code, file.path(package, "R", "code.R"))
  library <- withr::local_tempdir(.local_envir = frame)
  utils::install.packages(package, library, repos = NULL, type = "source", quiet = TRUE)
  withr::defer(unloadNamespace(name), envir = frame)
  withr::local_libpaths(library, action = "prefix", .local_envir = frame)
}

# For tests of what this package does only without the real package: R's methods for tensors are those of tensorflow
# where it is loaded, and flags() is that of tfruns where it is installed.
skip_beside <- function(package) {
  is_beside <- if (package == "tfruns") is_here(package) else isNamespaceLoaded(package)
  testthat::skip_if(is_beside, paste("The real", package, "is there"))
}

# Whether a package is installed, without loading it: a stand-in cannot take the place of a loaded package.
is_here <- function(package) {
  nzchar(system.file(package = package))
}
