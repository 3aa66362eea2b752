# Checks of the text in strings. Python reads only UTF-8. R would stop at strings that are marked as "bytes", and would
# pass on other untranslatable strings as different text, such as "a<ff>b".

as_utf8 <- function(strings, argument) {
  position <- first_not_text(strings)
  if (!is.na(position)) {
    abort_not_text(
      strings[[position]],
      subject = "`{argument}` has text",
      remedy = "Convert it from its encoding, for example from Latin-1: iconv(x, \"latin1\", \"UTF-8\").",
      kind = "argument",
      argument = argument
    )
  }
  enc2utf8(as.vector(strings))
}

# Checks a value of any kind that a function of R returns to Python.
check_text_in <- function(value) {
  if (is.list(value)) {
    as_utf8(as.character(names(value)), "names")
    for (each in value) {
      check_text_in(each)
    }
  } else if (is.character(value) || is.factor(value)) {
    as_utf8(if (is.factor(value)) levels(value) else value, "text for Python")
  }
}

# The position of the first string that cannot be converted to UTF-8. NA if there is none.
first_not_text <- function(strings) {
  marks <- Encoding(strings)
  bad <- !validEnc(strings) | marks == "bytes"
  if (!l10n_info()[["UTF-8"]]) {
    native <- which(marks == "unknown" & !is.na(strings))
    bad[native] <- bad[native] | is.na(iconv(strings[native], "", "UTF-8"))
  }
  match(TRUE, bad)
}

check_column_text <- function(values, name) {
  labels <- if (is.factor(values)) levels(values) else values
  position <- first_not_text(labels)
  if (is.na(position)) {
    return(invisible())
  }
  # A matrix has several values per row.
  rows <- if (is.factor(values)) which(as.integer(values) == position) else position
  row <- if (length(rows) > 0) (rows[[1]] - 1) %% NROW(values) + 1
  target <- if (is.factor(values)) "levels(data$`{name}`)" else "data$`{name}`"
  abort_not_text(
    labels[[position]],
    subject = c(
      "The column `{name}` has ",
      if (is.factor(values)) "a level" else "text",
      if (!is.null(row)) " in row {row}"
    ),
    remedy = c(
      "Convert it from its encoding, for example from Latin-1: ",
      target,
      " <- iconv(",
      target,
      ", \"latin1\", \"UTF-8\")."
    ),
    kind = "input",
    argument = name
  )
}

# Whether a pattern describes the whole text, in bytes, so that the letters of a locale do not count as letters.
matches_whole <- function(texts, pattern) {
  grepl(paste0("^(", pattern, ")$"), texts, useBytes = TRUE, perl = TRUE) &
    !grepl("\n", texts, useBytes = TRUE)
}

# Check that all texts are `accepted`. `why` and `remedy` are templates for the first text that is not.
check_texts <- function(
  texts,
  accepted,
  why,
  remedy = NULL,
  argument = rlang::caller_arg(texts),
  kind = "cluster",
  .envir = parent.frame()
) {
  if (!all(accepted)) {
    wrong <- texts[!accepted][[1]]
    why <- interpolate(why, .envir)
    remedy <- interpolate(remedy, .envir)
    abort_tfdistribute(
      kind,
      problem = "`{argument}` holds {show_value(wrong)}, which {why}.",
      remedy = if (!is.null(remedy)) "{remedy}",
      value = wrong
    )
  }
  texts
}

check_distinct <- function(values, remedy, argument, kind) {
  twice <- anyDuplicated(values)
  if (twice > 0) {
    abort_tfdistribute(
      kind,
      problem = "`{argument}` names {show_value(values[[twice]])} twice.",
      remedy = remedy,
      value = as.character(values[[twice]])
    )
  }
}

abort_not_text <- function(text, subject, remedy, kind, argument, .envir = parent.frame()) {
  subject <- interpolate(subject, .envir)
  remedy <- interpolate(remedy, .envir)
  abort_tfdistribute(
    kind,
    problem = c(
      "{subject} that is {if (Encoding(text) == 'bytes') 'marked as bytes' else 'not valid UTF-8'}: ",
      "{show_value(text)}."
    ),
    remedy = "{remedy}",
    argument = argument,
    value = show_value(text)
  )
}

# Any text as UTF-8. Invalid bytes are shown in hexadecimal.
shown_as_utf8 <- function(text) {
  if (!is.null(text)) iconv(enc2utf8(text), "UTF-8", "UTF-8", sub = "byte")
}
