# The site's index, against the pages and vignettes that there are.

read_site <- function() {
  skip_if_not_installed("yaml")
  yaml::read_yaml(file.path(source_root(), "_pkgdown.yml"))
}

contents_of <- function(groups) {
  unlist(lapply(groups, function(group) group$contents))
}

# The names of the help pages, by their aliases.
read_topics <- function() {
  pages <- list.files(file.path(source_root(), "man"), pattern = "[.]Rd$", full.names = TRUE)
  topics <- lapply(pages, function(page) {
    lines <- readLines(page, encoding = "UTF-8")
    values <- function(field) {
      pattern <- paste0("^\\\\", field, "\\{(.*)\\}$")
      gsub("\\%", "%", sub(pattern, "\\1", grep(pattern, lines, value = TRUE)), fixed = TRUE)
    }
    aliases <- values("alias")
    stats::setNames(rep(values("name"), length(aliases)), aliases)
  })
  unlist(topics)
}

test_that("every export is in exactly one group of the reference, and every help page too", {
  topics <- read_topics()
  listed <- contents_of(read_site()$reference)
  exports <- getNamespaceExports("tfdistribute")
  expect_identical(setdiff(exports, names(topics)), character())
  expect_identical(listed[duplicated(listed)], character())
  expect_setequal(listed, unname(topics))
})

test_that("the page on clashing names has all that other packages export, too", {
  page <- readLines(file.path(source_root(), "R", "tfdistribute-package.R"), encoding = "UTF-8")
  rows <- do.call(rbind, strsplit(grep("^#' [|] `", page, value = TRUE), " *[|] *"))
  named <- gsub("`|[()]", "", unlist(regmatches(rows[, 2], gregexpr("`[^`]+`", rows[, 2]))))
  exports <- getNamespaceExports("tfdistribute")
  expect_identical(setdiff(named, exports), character())
  both <- unlist(clashing_exports(unique(unlist(strsplit(rows[, 3], ", ")))))
  expect_identical(both[!both %in% named], both[0])
  expect_match(page, "conflicted::conflicts_prefer(", fixed = TRUE, all = FALSE)
})

test_that("every vignette is in exactly one group of the articles", {
  folder <- file.path(source_root(), "vignettes")
  vignettes <- list.files(folder, pattern = "[.]Rmd$", recursive = TRUE)
  listed <- contents_of(read_site()$articles)
  expect_identical(sort(listed), sort(sub("[.]Rmd$", "", vignettes)))
})

test_that("README lists the vignettes in the order of the site", {
  lines <- readLines(file.path(source_root(), "README.md"), encoding = "UTF-8")
  lines <- lines[seq(match("## Learn more", lines), length(lines))]
  named <- unlist(regmatches(lines, gregexpr("(?<=vignette\\(\")[a-z-]+", lines, perl = TRUE)))
  listed <- contents_of(read_site()$articles)
  expect_identical(named, grep("^articles/", listed, value = TRUE, invert = TRUE))
})

test_that("every vignette ends with the next step, and names vignettes that exist", {
  folder <- file.path(source_root(), "vignettes")
  vignettes <- list.files(folder, "[.]Rmd$", full.names = TRUE, recursive = TRUE)
  for (file in vignettes) {
    lines <- readLines(file, encoding = "UTF-8")
    expect_identical(tail(grep("^## ", lines, value = TRUE), 1), "## Next", info = basename(file))
    named <- unlist(regmatches(lines, gregexpr("(?<=vignette\\(\")[^\"]+", lines, perl = TRUE)))
    expect_identical(
      setdiff(named, sub("[.]Rmd$", "", basename(vignettes))),
      character(),
      info = basename(file)
    )
  }
})

read_cheat_sheet <- function() {
  readLines(file.path(source_root(), "man", "figures", "cheat-sheet.svg"))
}

functions_on <- function(sheet) {
  code <- sub(".*>(.*)</text>", "\\1", grep("class=\"code\"", sheet, value = TRUE))
  unique(unlist(regmatches(code, gregexpr("[A-Za-z_.]+(?=[(])", code, perl = TRUE))))
}

test_that("pages for scripts of tfestimators begin with it, and are not on the cheat sheet", {
  titles <- vapply(read_site()$reference, `[[`, "", "title")
  group <- read_site()$reference[[match("For scripts of tfestimators", titles)]]
  for (page in setdiff(group$contents, "reexports")) {
    lines <- readLines(file.path(source_root(), "man", paste0(page, ".Rd")), encoding = "UTF-8")
    expect_match(
      lines[match("\\description{", lines) + 1],
      "^(This function is|These (functions|methods) are) for scripts of tfestimators",
      info = page
    )
  }
  topics <- read_topics()
  of_scripts <- names(topics)[topics %in% group$contents]
  expect_identical(intersect(functions_on(read_cheat_sheet()), of_scripts), character())
})

test_that("the cheat sheet names functions that exist, and each strategy", {
  sheet <- read_cheat_sheet()
  named <- functions_on(sheet)
  exports <- getNamespaceExports("tfdistribute")
  of_others <- c("augment", "autoplot", "glance", "set_engine", "tidy")
  of_r <- c("coef", "conditionMessage", "plot", "predict", "summary", "tryCatch")
  expect_identical(setdiff(named, c(exports, of_others, of_r)), character())
  strategies <- grep("^strategy_", exports, value = TRUE)
  expect_identical(
    setdiff(strategies, c(named, "strategy_one_device", "strategy_tpu")),
    character()
  )
  # Drawn anew, it is the same.
  withr::local_dir(withr::local_tempdir())
  dir.create("man")
  source(file.path(source_root(), "tools", "cheat-sheet.R"), local = new.env())
  expect_identical(readLines("man/figures/cheat-sheet.svg"), sheet)
})
