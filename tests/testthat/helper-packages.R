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
