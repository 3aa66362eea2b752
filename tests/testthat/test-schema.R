# Contract with Python: the arguments of constructors are the fields of R/schema.R, with the same defaults and choices.

constructors <- function() {
  schema <- tfdistribute:::schema
  named <- function(family, pattern) {
    stats::setNames(schema[[family]], sprintf(pattern, names(schema[[family]])))
  }
  clusters <- named("cluster", "%s_cluster")
  names(clusters)[names(clusters) == "addresses_cluster"] <- "address_cluster"
  c(
    named("strategy", "strategy_%s"),
    clusters,
    named("tracker", "track_%s"),
    list(run_config = schema$run_config)
  )
}

# Arguments that are no fields, or whose default depends on another argument.
only_in_r <- c("hostfile", "...")
computed <- c("workers", "save_checkpoints_secs", "hosts")

test_that("the arguments of every constructor are its fields", {
  all <- constructors()
  for (name in names(all)) {
    fields <- as.character(names(all[[name]]$properties))
    arguments <- setdiff(names(formals(get(name, asNamespace("tfdistribute")))), only_in_r)
    expect_setequal(arguments, fields)
  }
})

test_that("defaults and choices are those of Python", {
  all <- constructors()
  for (name in names(all)) {
    formals <- formals(get(name, asNamespace("tfdistribute")))
    for (field in setdiff(names(all[[name]]$properties), computed)) {
      property <- all[[name]]$properties[[field]]
      label <- paste0(name, "(", field, ")")
      if (is_required_argument(formals[[field]])) {
        expect_false("default" %in% names(property), label = label)
        next
      }
      default <- eval(formals[[field]], asNamespace("tfdistribute"))
      choices <- property$anyOf[[1]]$enum
      if (length(default) > 1) {
        expect_identical(default, choices, label = label)
        default <- default[[1]]
      }
      expected <- if (length(property$default) == 0) NULL else unlist(property$default)
      expect_equal(default, expected, label = label)
    }
  }
})
