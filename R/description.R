# A description is a plain R list with a kind and a family: it prints, compares, saves and travels.

#' Make a description
#'
#' @param family Family, as in Python: `"strategy"`, `"feature_column"`, `"input"`, `"estimator"`.
#' @param kind Member of the family; the word by which Python recognises it.
#' @param ... Fields, already checked, named as the Python dataclass names them.
#' @return A list of class `tfdistribute_<kind>_<family>`, `tfdistribute_<family>`.
#' @noRd
new_description <- function(family, kind, ...) {
  structure(
    list(kind = kind, ...),
    class = c(paste0("tfdistribute_", kind, "_", family), paste0("tfdistribute_", family))
  )
}
