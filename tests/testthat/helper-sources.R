# The files of R/, their layers and their functions.

# The layers of R/, highest first, from the table in CONTRIBUTING.md: prefixes of file names by layer.
read_layers <- function() {
  lines <- readLines(file.path(source_root(), "CONTRIBUTING.md"), encoding = "UTF-8")
  header <- which(startsWith(lines, "| Layer | Prefixes |"))
  stopifnot(length(header) == 1)
  after <- lines[-seq_len(header + 1)]
  rows <- after[seq_len(match(FALSE, startsWith(after, "|")) - 1)]
  cells <- strsplit(rows, " *\\| *")
  prefixes <- lapply(cells, function(row) {
    unlist(regmatches(row[[3]], gregexpr("(?<=`)[^`, ]+(?=`)", row[[3]], perl = TRUE)))
  })
  stats::setNames(prefixes, vapply(cells, function(row) row[[2]], character(1)))
}

r_files <- function() {
  list.files(file.path(source_root(), "R"), pattern = "\\.[Rr]$", full.names = TRUE)
}

# The layer whose longest prefix fits: `check-arguments` is not one of the `check` verbs.
layer_of <- function(path) {
  name <- sub("\\.[Rr]$", "", basename(path))
  layers <- read_layers()
  prefixes <- unlist(layers, use.names = FALSE)
  fits <- prefixes[name == prefixes | startsWith(name, paste0(prefixes, "-"))]
  if (length(fits) == 0) {
    return(NA_character_)
  }
  prefix <- fits[[which.max(nchar(fits))]]
  names(layers)[vapply(layers, function(members) prefix %in% members, logical(1))]
}

functions_defined_in <- function(path) {
  assigned <- Filter(
    function(expression) is.call(expression) && identical(expression[[1]], as.name("<-")),
    as.list(parse(path))
  )
  assigned <- Filter(function(expression) is.name(expression[[2]]), assigned)
  vapply(assigned, function(expression) as.character(expression[[2]]), character(1))
}
