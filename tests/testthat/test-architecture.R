code_of <- function(path) {
  parsed <- utils::getParseData(parse(path, keep.source = TRUE))
  if (is.null(parsed)) data.frame(token = character(), text = character()) else parsed
}

functions_called_in <- function(path) {
  code <- code_of(path)
  unique(code$text[code$token == "SYMBOL_FUNCTION_CALL"])
}

test_that("every prefix in the table of layers has a file", {
  names <- sub("\\.[Rr]$", "", basename(r_files()))
  prefixes <- unlist(read_layers(), use.names = FALSE)
  used <- vapply(prefixes, function(prefix) any(startsWith(names, prefix)), logical(1))
  expect_identical(prefixes[!used], character())
})

test_that("no function is defined twice", {
  defined <- unlist(lapply(r_files(), functions_defined_in))
  expect_identical(defined[duplicated(defined)], character())
})

test_that("every R file belongs to a layer", {
  files <- r_files()
  homeless <- files[is.na(vapply(files, layer_of, character(1)))]
  expect_identical(basename(homeless), character())
})

test_that("R code calls its own layer and those below", {
  files <- r_files()
  height <- -match(vapply(files, layer_of, character(1)), names(read_layers()))
  defined <- lapply(files, functions_defined_in)
  definition_height <- stats::setNames(rep(height, lengths(defined)), unlist(defined))
  upward <- unlist(Map(
    function(path, own_height) {
      called <- intersect(functions_called_in(path), names(definition_height))
      higher <- called[which(definition_height[called] > own_height)]
      if (length(higher) > 0) paste(basename(path), "calls", higher)
    },
    files,
    height
  ))
  expect_identical(unname(upward), NULL)
})

test_that("only R/python-backend.R speaks to reticulate", {
  speakers <- Filter(
    function(path) {
      code <- code_of(path)
      any(code$token == "SYMBOL_PACKAGE" & code$text == "reticulate")
    },
    r_files()
  )
  expect_identical(setdiff(basename(speakers), "python-backend.R"), character())
  imported <- readLines(file.path(source_root(), "NAMESPACE"))
  # These are exported, too.
  functions <- c("use_condaenv", "use_python", "use_virtualenv")
  expect_identical(
    grep("reticulate", imported, value = TRUE, fixed = TRUE),
    paste0("importFrom(reticulate,", functions, ")")
  )
})

# R gives the frame of a call in a data mask as its own caller, so a loop from caller to caller need not end.
test_that("no function with a loop without a fixed number of turns reads the frames of calls", {
  frames <- c("sys.parent", "sys.parents", "sys.frame", "sys.function", "parent.frame")
  may_walk <- function(code) {
    names <- all.names(code)
    any(c("while", "repeat") %in% names) && any(frames %in% names)
  }
  walking <- Filter(function(path) any(vapply(as.list(parse(path)), may_walk, NA)), r_files())
  expect_identical(basename(walking), character())
})

# Vectors of three or more fields of one description. One that decides what happens to a field must be a fact at the
# field, in Python.
test_that("no list by name repeats fields of a description", {
  with_reason <- c(
    "check-distribution.R", # Settings that change the digits.
    "cluster.R", # Roles of tasks, in TensorFlow's order.
    "estimator-training-loop.R", # Functions of which tasks compare the variables.
    "input-fn.R", # What Python gets of rows whose columns it requests one at a time.
    "launch-task.R" # The same, of rows in a file.
  )
  schema <- tfdistribute:::schema
  is_member <- function(x) all(vapply(x, function(each) "types" %in% names(each), NA))
  members <- unlist(
    lapply(schema, function(family) if (is_member(family)) list(family) else family),
    recursive = FALSE
  )
  repeats_fields <- function(code) {
    if (rlang::is_call(code, "c") && is.null(names(code))) {
      texts <- Filter(is.character, as.list(code)[-1])
      is_list <- length(texts) >= 3 && length(texts) == length(code) - 1
      if (is_list && any(vapply(members, function(x) all(texts %in% names(x)), NA))) {
        return(TRUE)
      }
    }
    parts <- if (is.call(code) || is.pairlist(code)) as.list(code)
    any(vapply(Filter(Negate(is_required_argument), parts), repeats_fields, NA))
  }
  files <- Filter(function(path) basename(path) != "schema.R", r_files())
  found <- Filter(function(path) any(vapply(as.list(parse(path)), repeats_fields, NA)), files)
  expect_identical(basename(found), with_reason)
})

test_that("no file is a drawer for everything", {
  drawers <- grep("^(utils?|misc|common|helpers?)([-.]|$)", basename(r_files()), value = TRUE)
  expect_identical(drawers, character())
})

test_that("no R file has more than 450 lines", {
  lines <- vapply(r_files(), function(path) length(readLines(path, warn = FALSE)), integer(1))
  # `make docs` writes schema.R.
  expect_identical(setdiff(basename(names(lines)[lines > 450]), "schema.R"), character())
})

test_that("every export has a page with an example", {
  exports <- getNamespaceExports("tfdistribute")
  pages <- list.files(file.path(source_root(), "man"), pattern = "\\.Rd$", full.names = TRUE)
  texts <- lapply(pages, readLines, warn = FALSE)
  aliases <- lapply(texts, function(text) {
    gsub("\\\\alias\\{|\\}$|\\\\(?=%)", "", grep("^\\\\alias\\{", text, value = TRUE), perl = TRUE)
  })
  expect_identical(setdiff(exports, unlist(aliases)), character())

  is_reexport <- vapply(
    texts,
    function(text) any(grepl("\\keyword{internal}", text, fixed = TRUE)),
    logical(1)
  )
  has_example <- vapply(texts, function(text) any(startsWith(text, "\\examples{")), logical(1))
  lacking <- !has_example &
    !is_reexport &
    vapply(aliases, function(names) any(names %in% exports), logical(1))
  expect_identical(basename(pages[lacking]), character())
})

test_that("no line of an example is too long for the manual", {
  wide <- function(path) {
    lines <- readLines(path, encoding = "UTF-8")
    starts_part <- grepl("^#' @", lines) | !startsWith(lines, "#'")
    part <- c("", lines[starts_part])[cumsum(starts_part) + 1]
    lines[startsWith(part, "#' @examples") & nchar(lines) > nchar("#' ") + 100]
  }
  expect_identical(unlist(lapply(r_files(), wide)), character())
})
