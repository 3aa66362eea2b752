# The code in remedies of errors, and the remedies in the sources.

# Raise the error of `fails`, and type the code of its remedy: `typed` must contain it, and run. Both are evaluated in
# one environment of their own, which sees only what is exported, and the values in `...`. Python reads descriptions.
# Code that has worked before is not run again, unless it `is_new`, and none is run where nothing `is_typed`.
tries <- function(fails, typed, ..., is_new = TRUE, is_typed = TRUE) {
  env <- list2env(list(...), parent = globalenv())
  # For others, a variable is as before, whatever code sets it.
  withr::local_envvar(TF_CONFIG = Sys.getenv("TF_CONFIG", NA))
  failing <- substitute(fails)
  error <- tryCatch(
    {
      read_by_python(eval(failing, env))
      NULL
    },
    error = identity
  )
  # What a function of the user raised is the cause of the error.
  remedy <- error$remedy %||% error$parent$remedy
  shown <- deparse1(failing)
  expect(is.character(remedy), paste0("No error with a remedy: ", shown, "\n", toString(error)))
  code <- code_in(remedy)
  contained <- vapply(
    code_patterns(code),
    grepl,
    NA,
    squeezed(deparse1(substitute(typed))),
    perl = TRUE
  )
  expect(
    all(contained),
    paste0("Not typed after ", shown, ": ", toString(code[!contained]), "\n", remedy)
  )
  typing <- substitute(typed)
  is_run <- is_typed && (is_new || !deparse1(typing) %in% tried_remedies$typed)
  result <- tryCatch(
    {
      if (is_run) {
        read_by_python(eval(typing, env))
      }
      NULL
    },
    error = conditionMessage
  )
  expect(is.null(result), paste0("Failed as typed after ", shown, "\n", remedy, "\n", result))
  tried_remedies$texts <- c(tried_remedies$texts, remedy)
  tried_remedies$typed <- c(tried_remedies$typed, if (is_run) deparse1(typing))
}

tried_remedies <- new.env()

# Let Python check a description, as the first verb that reads it does.
read_by_python <- function(value) {
  family <- intersect(sub("^tfdistribute_", "", class(value)), names(description_readers))
  if (length(family) > 0) {
    backend()
    reticulate::py_run_string(paste0(
      description_readers[[family]],
      "\nfrom tfdistribute.bridge import functions\n",
      "functions.FUNCTIONS['read_description'] = read_description\n"
    ))
    withr::defer(reticulate::py_run_string("functions.FUNCTIONS.pop('read_description')"))
    call_backend("read_description", value = value)
  }
}

# Code that defines read_description() for each family. The bridge reads arguments by their types. An estimator also
# contains its configuration.
reads_type <- function(module, class) {
  sprintf(
    "from tfdistribute.%s import %s as Family\ndef read_description(value: Family): pass",
    module,
    class
  )
}
description_readers <- list(
  strategy = reads_type("strategies", "Strategy"),
  cluster = reads_type("cluster.spec", "Cluster"),
  run_config = reads_type("run_config", "RunSettings"),
  hook = reads_type("training.hooks", "Hook"),
  feature_column = reads_type("models", "FeatureColumn"),
  input = reads_type("inputs", "Input"),
  estimator = paste0(
    "from tfdistribute.training.specs import read_estimator\n",
    "def read_description(value: dict): read_estimator(value)"
  )
)

# An environment in which tries() also sees `values`.
with_values <- function(values, is_typed = TRUE) {
  with <- function(fails, typed, ...) {
    fails <- rlang::enexpr(fails)
    typed <- rlang::enexpr(typed)
    is_new <- ...length() > 0
    rlang::inject(tries(!!fails, !!typed, ..., !!!values, is_new = is_new, is_typed = is_typed))
  }
  list2env(list(tries = with), parent = environment(tries))
}

# Calls, settings and assignments in a text.
code_in <- function(text) {
  suffix <- "(\\((?:\"[^\"]*\"|[^()\"]|(?1))*\\)|\\[[^]]*\\]|\\$[\\w.]*\\w)*"
  atom <- paste0("(?:\"[^\"]*\"|-?[A-Za-z][\\w.]*(?<![.])(?:::[\\w.]+)?", suffix, "|[0-9.]*[0-9])")
  # In the whole pattern, the suffix is the second group.
  pattern <- paste0(
    "(?<atom>",
    gsub("?1", "?2", atom, fixed = TRUE),
    ")(?: (?:=|<-|~|-) (?&atom))*"
  )
  # What a remedy replaces is not typed.
  text <- gsub("`", "", text)
  text <- gsub("in place of \\S+|([Ll]eave out|without) \\w+(\\(\\)| = \\S+)", "", text)
  code <- unlist(regmatches(text, gregexpr(pattern, text, perl = TRUE)))
  grep("[A-Za-z_.][(]|\\[| = | <- |[$]", code, value = TRUE)
}

# Without what R's own printing of code changes.
squeezed <- function(code) {
  gsub("[[:space:]`'\"]", "", code)
}

# "..." and an empty value stand for anything, and so do the arguments of f().
code_patterns <- function(code) {
  code <- gsub("([.+*?^$|(){}\\[\\]\\\\])", "\\\\\\1", squeezed(code), perl = TRUE)
  code <- gsub("\\.\\.\\.", ".*", code, fixed = TRUE)
  gsub("([(=])(?=,|\\\\[)])", "\\1.*", code, perl = TRUE)
}

# The remedies in R/, as the templates that the sources contain.
remedies_in_sources <- function() {
  code <- lapply(
    list.files(file.path(source_root(), "R"), "[.]R$", full.names = TRUE),
    function(path) as.list(parse(path, keep.source = FALSE))
  )
  code <- unlist(code, recursive = FALSE)
  is_function <- function(each) {
    rlang::is_call(each, "<-") && is.name(each[[2]]) && rlang::is_call(each[[3]], "function")
  }
  functions <- Filter(is_function, code)
  names(functions) <- vapply(functions, function(each) as.character(each[[2]]), "")
  formals <- lapply(functions, function(each) each[[3]][[2]])
  takers <- Filter(function(names) any(remedy_names %in% names(names)), formals)
  remedies <- unique(unlist(lapply(code, remedies_in, takers = takers)))
  grep(" ", remedies, value = TRUE, fixed = TRUE)
}

remedy_names <- c("remedy", "instead")

# What a call gives as a remedy, or what a function or variable with remedies contains.
remedies_in <- function(code, takers) {
  if (!is.call(code)) {
    return(NULL)
  }
  called <- rlang::call_name(code) %||% ""
  given <- if (called %in% names(takers)) {
    taker <- rlang::new_function(as.pairlist(takers[[called]]), NULL)
    as.list(match.call(taker, code))[remedy_names]
  } else if (called %in% c("check_call", "check_required")) {
    code[!names(code) %in% c("", "also")]
  } else if (called == "<-" && is.name(code[[2]]) && grepl("remed|^other_ways$", code[[2]])) {
    code[[3]]
  }
  parts <- Filter(Negate(rlang::is_missing), as.list(code))
  c(strings_in(given), unlist(lapply(parts, remedies_in, takers = takers)))
}

strings_in <- function(code) {
  if (is.character(code)) {
    code
  } else if (is.call(code) || is.list(code)) {
    unlist(lapply(Filter(Negate(rlang::is_missing), as.list(code)), strings_in))
  }
}

# The remedies in inst/python, as the same templates.
remedies_in_python <- function() {
  code <- paste(
    "import json, pathlib; from support.remedies import remedies;",
    "print(json.dumps(remedies(pathlib.Path('inst/python/tfdistribute'))))"
  )
  root <- source_root()
  path <- paste(file.path(root, c("inst/python", "tests/python")), collapse = .Platform$path.sep)
  python <- Sys.getenv("RETICULATE_PYTHON", Sys.which("python3"))
  found <- processx::run(python, c("-c", code), wd = root, env = c("current", PYTHONPATH = path))
  unlist(jsonlite::fromJSON(found$stdout))
}

# The pattern of texts that a template of cli::pluralize() becomes.
template_pattern <- function(template) {
  parts <- strsplit(template, "\\{(?:[^{}]|\\{[^{}]*\\})*\\}", perl = TRUE)[[1]]
  paste0(ifelse(nzchar(parts), paste0("\\Q", parts, "\\E"), ""), collapse = ".*")
}

has_code <- function(template) length(code_in(without_values(template))) > 0

without_values <- function(template) {
  gsub("[{](?:[^{}]|[{][^{}]*[}])*[}]", "x", template, perl = TRUE)
}

# Mistakes in the code of remedies that need no trial: functions that do not exist, and arguments that they lack. The
# code of other packages and of Python has a `$`, `::` or `.`, or its names are in `foreign`.
wrong_names_in <- function(remedies, foreign) {
  code <- unlist(lapply(without_values(remedies), code_in))
  code <- gsub("= *(?=[,)])", "= x", gsub("...", "x", code, fixed = TRUE), perl = TRUE)
  parsed <- lapply(code, function(text) tryCatch(str2lang(text), error = function(error) NULL))
  unique(unlist(lapply(parsed, wrong_names, foreign = foreign)))
}

wrong_names <- function(code, foreign) {
  if (!is.call(code)) {
    return(NULL)
  }
  name <- if (is.name(code[[1]])) as.character(code[[1]]) else "$"
  own <- intersect(name, exported_functions())
  given <- setdiff(names(code), c("", foreign))
  wrong <- if (name == "=") {
    setdiff(
      as.character(code[[2]]),
      c(unlist(lapply(exported_functions(), argument_names)), foreign)
    )
  } else if (length(own) > 0) {
    setdiff(given, c(argument_names(own), if (own == "train") "data"))
  } else if (!grepl("[.]", name) && !exists(name, globalenv())) {
    setdiff(paste0(name, "()"), foreign)
  }
  parts <- Filter(Negate(rlang::is_missing), as.list(code)[-1])
  found <- lapply(parts, wrong_names, foreign = foreign)
  c(if (length(wrong) > 0) paste(wrong, "in", deparse1(code)), unlist(found))
}

argument_names <- function(name) names(arguments_of(name))
