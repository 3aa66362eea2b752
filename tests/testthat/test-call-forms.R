# Errors, warnings and interrupts inside the forms in which R users call functions. In some of them, R gives a frame as
# its own caller. What does not end is stopped by a time limit for each call, in a child process with one of its own.

# A call of the function `f` with the first argument `x`. targets and future, which are not on every machine, evaluate
# calls in environments of their own.
call_forms <- c(
  `f()` = "f(x, ...)",
  `%>%` = "x %>% f(...)",
  `%>% after %>%` = "x %>% identity() %>% f(...)",
  `%>% {}` = "x %>% { f(., ...) }",
  `%!>%` = "x %!>% f(...)",
  `%$%` = "list(x = x) %$% f(x, ...)",
  `|>` = "x |> f(...)",
  `mutate()` = "dplyr::mutate(mtcars, new = list(f(x, ...)))",
  `summarise()` = "mtcars %>% dplyr::group_by(cyl) %>% dplyr::summarise(new = list(f(x, ...)))",
  `eval_tidy()` = "rlang::eval_tidy(rlang::quo(f(x, ...)), mtcars)",
  `with()` = "with(mtcars, f(x, ...))",
  `local()` = "local(f(x, ...))",
  `lapply()` = "lapply(list(x), f, ...)",
  `lapply(function)` = "lapply(1:2, function(index) f(x, ...))",
  `map()` = "purrr::map(list(x), f, ...)",
  `map(~)` = "purrr::map(1:2, ~ f(x, ...))",
  `Reduce()` = "Reduce(function(left, right) f(x, ...), 1:2)",
  `do.call()` = "do.call(f, list(x, ...))",
  `do.call("")` = "do.call(\"f\", list(x, ...))",
  `tryCatch()` = "tryCatch(f(x, ...), no_such_condition = identity)",
  `try_fetch()` = "rlang::try_fetch(f(x, ...), no_such_condition = identity)",
  `with_seed()` = "withr::with_seed(1, f(x, ...))",
  `isolate()` = "shiny::isolate(f(x, ...))",
  `eval() of targets` = "eval(quote(f(x, ...)), new.env())",
  `knit()` = "knitr::knit(text = c('```{r, error = TRUE}', r\"[f(x, ...)]\", '```'), quiet = TRUE)"
)

# The outcomes of all cases in all forms. A case has the function's name `f`, the values of `x` and `...`, and what
# Python answers.
outcomes_in_forms <- function(cases, forms, limit_s = 10) {
  library(magrittr)
  state <- asNamespace("tfdistribute")$the
  called_name <- function(error) {
    while (!inherits(error, "tfdistribute_error") && !is.null(error$parent)) {
      error <- error$parent
    }
    if (inherits(error, "tfdistribute_error")) {
      rlang::call_name(error$call)
    } else {
      paste("R's own error:", conditionMessage(error))
    }
  }
  outcome <- function(case, form) {
    answer <- function(...) {
      if (!is.null(case$answer$warned)) {
        asNamespace("tfdistribute")$keep_warning(simpleWarning(case$answer$warned))
      }
      case$answer
    }
    assign("bridge", list(call = answer), state)
    warned <- NULL
    code <- gsub("...", case$arguments, form, fixed = TRUE)
    code <- gsub("\\bf\\b(?=[(,\"])", case$f, code, perl = TRUE)
    setTimeLimit(elapsed = limit_s, transient = TRUE)
    on.exit(setTimeLimit())
    tryCatch(
      withCallingHandlers(
        {
          value <- eval(parse(text = code), rlang::env(x = case$x))
          if (is.character(value)) {
            value
          } else if (is.null(warned)) {
            "no error"
          } else {
            warned
          }
        },
        warning = function(warning) {
          warned <<- paste(warned, rlang::cnd_message(warning))
          tryInvokeRestart("muffleWarning")
        }
      ),
      error = called_name,
      interrupt = function(interrupt) paste(c(warned, "interrupted"), collapse = " ")
    )
  }
  lapply(cases, function(case) lapply(forms, function(form) outcome(case, form)))
}

# The outcomes that do not match what each case expects, as lines of text.
unexpected_outcomes <- function(cases, forms = call_forms) {
  outcomes <- in_child_r(outcomes_in_forms, list(cases, forms), timeout_s = 250)
  faults <- Map(
    function(case, found) {
      found <- vapply(found, paste, "", collapse = "\n")
      is_right <- found == case$expected | grepl(case$expected_text, found)
      paste0(case$f, "() in ", names(found), ": ", found)[!is_right]
    },
    cases,
    outcomes
  )
  as.character(unlist(faults))
}

# Text in the output of knitr is an outcome too.
call_case <- function(
  f,
  x,
  arguments,
  answer = NULL,
  expected = f,
  expected_text = paste0("Error in .", f, "\\(\\)")
) {
  as.list(environment())
}

test_that("an error in any exported function ends, and names the function that was called", {
  leave_to_check()
  valid <- required_values()
  names <- setdiff(exported_functions(), not_called)
  # R cannot tell which of two names of one function was called.
  names <- names[!duplicated(mget(names, asNamespace("tfdistribute")))]
  cases <- lapply(names, function(name) {
    first <- names(arguments_of(name))[[1]]
    call_case(name, valid[[first]] %||% mtcars, "no_such_argument = 1")
  })
  forms <- if (checks_all()) call_forms else call_forms["%>%"]
  expect_identical(unexpected_outcomes(cases, forms), character())
})

model_case <- function(f, arguments, ...) {
  call_case(f, linear_regressor(column_numeric("wt")), arguments, ...)
}

cars <- "input_fn(mpg ~ wt, mtcars)"
specs <- "train_spec(input_fn(mpg ~ wt, mtcars)), eval_spec(input_fn(mpg ~ wt, mtcars))"

test_that("an error ends in every form of call", {
  leave_to_check()
  answer <- list(error = list(kind = "input", problem = "The input has no rows."))
  cases <- list(
    call_case("feature_columns", "nonsense", "3"),
    call_case("dnn_regressor", 8, "column_numeric('wt'), optimizer = 'no such optimizer'"),
    call_case("input_fn", mtcars, "features = 'nothing', response = 'mpg'"),
    model_case("train", "mpg ~ nothing, data = mtcars"),
    model_case("train", cars, answer),
    model_case("evaluate", cars, answer),
    model_case("predict", cars, answer),
    model_case("train_and_evaluate", specs, answer)
  )
  expect_identical(unexpected_outcomes(cases), character())
})

test_that("a warning and an interrupt end in every form of call", {
  leave_to_check()
  interrupted <- list(interrupt = TRUE, text = "Interrupted.")
  warned <- c(interrupted, warned = "2 rows were skipped.")
  stopped <- function(f, arguments) {
    model_case(f, arguments, interrupted, "interrupted", "interrupted")
  }
  cases <- list(
    model_case("evaluate", cars, warned, "2 rows were skipped. interrupted", "2 rows were skipped"),
    stopped("train", cars),
    stopped("evaluate", cars),
    stopped("predict", cars),
    stopped("train_and_evaluate", specs)
  )
  # knitr and new versions of dplyr keep a warning until their own end, which does not come.
  keeping <- c(
    "knit()",
    if (utils::packageVersion("dplyr") >= "1.1.0") c("mutate()", "summarise()")
  )
  kept <- paste0("evaluate() in ", keeping, ": interrupted")
  expect_identical(setdiff(unexpected_outcomes(cases), kept), character())
})
