# Functions of other packages that users of tfestimators find beside its own.

#' @importFrom magrittr %>%
#' @export
magrittr::`%>%`

#' @importFrom tibble glimpse
#' @export
tibble::glimpse
