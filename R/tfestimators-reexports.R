# Functions of other packages that tfestimators exports.

#' Functions of other packages
#'
#' These functions are for scripts of tfestimators, which also exports them. Their packages document them: the helpers
#' that select columns in [tidyselect::language], and the pipe in the package magrittr.
#'
#' @importFrom magrittr %>%
#' @importFrom tidyselect all_of any_of contains ends_with everything last_col matches num_range one_of starts_with
#' @rawNamespace export("%>%", all_of, any_of, contains, ends_with, everything, last_col, matches, num_range, one_of,
#'   starts_with)
#' @aliases %>% all_of any_of contains ends_with everything last_col matches num_range one_of starts_with
#' @keywords internal
#' @name reexports
NULL

#' Show the columns of a table
#'
#' This function is for scripts of tfestimators, which also exports this function of tibble and dplyr. It shows a table
#' with a line for each column.
#'
#' @param x A data frame, or another object that has a method.
#' @param width Width of the output, a number of characters. NULL (default) uses the width of the console.
#' @param ... Arguments for methods.
#' @returns `x`, invisibly.
#' @seealso [tibble::glimpse()]
#' @examples
#' glimpse(mtcars)
#' @usage glimpse(x, width = NULL, ...)
#' @name glimpse
#' @rawNamespace export(glimpse)
NULL
