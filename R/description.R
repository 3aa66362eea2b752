# A description is a plain R list with a kind and a family: it prints, compares, saves and travels.

# A list of class tfdistribute_<kind>_<family> and tfdistribute_<family>. `family` is as in Python: "strategy",
# "feature_column", "input", "estimator". Python recognises the member by its `kind`. The fields are checked, and named
# as in the Python dataclass.
new_description <- function(family, kind, ...) {
  structure(
    list(kind = kind, ...),
    class = c(paste0("tfdistribute_", kind, "_", family), paste0("tfdistribute_", family))
  )
}
