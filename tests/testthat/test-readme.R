# The code of README.md runs as it stands there, and what README.md claims is true.
# Proves: The code of README

readme_lines <- function() {
  readLines(file.path(source_root(), "README.md"), encoding = "UTF-8")
}

# The lines of the only block of code in a language.
readme_block <- function(language) {
  lines <- readme_lines()
  begins <- which(lines == paste0("```", language))
  ends <- which(lines == "```")
  expect_length(begins, 1)
  lines[(begins + 1):(ends[ends > begins][[1]] - 1)]
}

# Run code, and return the values of the calls before `#> [1]`. With all rows, these are as shown there, but for what
# Adam makes of another processor's rounding.
run_block <- function(lines, session, is_whole = TRUE) {
  values <- numeric()
  calls <- parse(text = lines, keep.source = TRUE)
  ends <- vapply(attr(calls, "srcref"), `[[`, 1L, 3)
  for (index in seq_along(calls)) {
    value <- eval(calls[[index]], session)
    shown <- sub("^#> \\[1\\] ", "", lines[ends[[index]] + 1])
    if (!shown %in% c(NA, lines)) {
      if (is_whole) {
        expect_equal(value, as.numeric(shown), tolerance = 0.05)
      }
      values <- c(values, value)
    }
  }
  values
}

# The arguments with which README trains elsewhere.
readme_places <- function() {
  text <- paste(readme_lines(), collapse = " ")
  regmatches(
    text,
    gregexpr("(?<=[`, ])(cluster|strategy) = [a-z_]+[(].*?[)](?=`|[)] ```)", text, perl = TRUE)
  )[[1]]
}

# The first model's code, with the change that README shows, and with all GPUs.
readme_variants <- function() {
  code <- readme_block("r")
  changes <- sub("^[-+]", "", readme_block("diff"))
  places <- readme_places()
  expect_identical(sum(code == changes[[1]]), 1L)
  expect_identical(changes[[2]], sub(")$", paste0(", ", places[[1]], ")"), changes[[1]]))
  mirrored <- grep("strategy_mirrored", places, value = TRUE)
  changes[[3]] <- sub(")$", paste0(", ", mirrored, ")"), changes[[1]])
  lapply(changes, function(change) replace(code, code == changes[[1]], change))
}

test_that("a newcomer's model learns, also in two processes and on several devices", {
  skip_if_no_tensorflow()
  # A part of the rows takes seconds.
  table <- "diamonds <- ggplot2::diamonds"
  values <- lapply(readme_variants(), function(code) {
    expect_identical(sum(code == table), 1L)
    code[code == table] <- paste0(table, "[seq(1, 53940, by = 30), ]")
    # Without dropout, for which replicas draw other units.
    code <- sub(
      "tabular_regressor(config",
      "tabular_regressor(dropout = 0, config",
      code,
      fixed = TRUE
    )
    run_block(code, new.env(parent = globalenv()), is_whole = FALSE)
  })
  for (each in values) {
    expect_lt(each[[1]], 0.7 * each[[2]])
    expect_equal(each, values[[1]], tolerance = 0.01)
  }
})

# It trains for two minutes.
if (checks_all()) {
  test_that("README shows the numbers of its first model", {
    skip_if_no_tensorflow()
    expect_length(run_block(readme_block("r"), new.env(parent = globalenv())), 2)
  })
}

test_that("each place of README can be given to the model", {
  session <- new.env(parent = globalenv())
  session$sc <- "sc://localhost:15002"
  code <- readme_block("r")
  run_block(code[seq_len(grep("^history", code) - 1)], session)
  places <- readme_places()
  expect_length(places, 6)
  for (place in places) {
    argument <- eval(parse(text = paste0("list(", place, ")")), session)
    session$model$config[[names(argument)]] <- argument[[1]]
    expect_identical(session$model$config[[names(argument)]], argument[[1]])
  }
})

test_that("README has 130 lines at most, each strategy, and files that exist behind its links", {
  lines <- readme_lines()
  expect_lte(length(lines), 130)
  rows <- sub(
    "^[|] `(strategy_[a-z_]+)[(][)]`.*",
    "\\1",
    grep("^[|] `strategy_", lines, value = TRUE)
  )
  exports <- getNamespaceExports("tfdistribute")
  expect_setequal(rows, grep("^strategy_", exports, value = TRUE))
  links <- unlist(regmatches(lines, gregexpr("(?<=\\]\\()[^)#:]+(?=\\))", lines, perl = TRUE)))
  expect_gt(length(links), 8)
  expect_identical(links[!file.exists(file.path(source_root(), links))], character())
})
