# The addins of RStudio that inst/rstudio/addins.dcf lists.

addin_train <- function() {
  rstudioapi::sendToConsole(background_code(selected_text()))
}

addin_view <- function() {
  selected <- selected_text()
  rstudioapi::sendToConsole(sprintf("view_training(%s)", if (nzchar(selected)) selected else "job"))
}

selected_text <- function() {
  trimws(rstudioapi::primary_selection(rstudioapi::getSourceEditorContext())$text)
}

# A call of a verb, or an assignment of its result, as code that returns immediately.
background_code <- function(selection) {
  code <- tryCatch(as.list(parse(text = selection, keep.source = FALSE)), error = function(e) NULL)
  call <- if (length(code) == 1) code[[1]]
  if (rlang::is_call(call, c("<-", "="), n = 2)) {
    call <- call[[3]]
  }
  if (!rlang::is_call(call, c("train", "train_and_evaluate"))) {
    abort_argument(selection, "one call of train() or train_and_evaluate()", "selection")
  }
  code <- deparse(rlang::call_modify(call, wait = FALSE))
  paste("job <-", paste(code, collapse = "\n"))
}
