# Functions of other packages that tfestimators exports.

#' @importFrom magrittr %>%
#' @export
magrittr::`%>%`

#' @importFrom tibble glimpse
#' @export
tibble::glimpse
