# Functions of other packages that tfestimators exports.

#' @importFrom magrittr %>%
#' @export
magrittr::`%>%`

#' Show the columns of a table
#'
#' The function of tibble and dplyr, which tfestimators exports, too. It shows a table with a line for each column.
#'
#' @param x A data frame, or another object with a method.
#' @param width Width of the output, a number of characters; NULL (default) for that of the console.
#' @param ... For methods.
#' @returns `x`, invisibly.
#' @seealso [tibble::glimpse()]
#' @examples
#' glimpse(mtcars)
#' @usage glimpse(x, width = NULL, ...)
#' @name glimpse
#' @rawNamespace export(glimpse)
NULL

# Tibble is loaded when it is first used: it takes a tenth of the time to load this package.
export_glimpse <- function() {
  delayedAssign("glimpse", tibble::glimpse, assign.env = topenv())
}
