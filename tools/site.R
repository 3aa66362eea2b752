# Build the site in .environment/site without the internet, and check that no link between its pages is broken. Examples
# are shown and not run; articles are run.
library(tfdistribute)
options(pkgdown.internet = FALSE)

# downlit would ask CRAN for the sites of packages that are not installed.
no_sites <- function() data.frame(Package = character(), URL = character())
utils::assignInNamespace("CRAN_urls", no_sites, "downlit")

package <- pkgdown::as_pkgdown(".")
pkgdown::init_site(package)
pkgdown::build_home(package, quiet = TRUE, preview = FALSE)
pkgdown::build_reference(package, examples = FALSE, devel = FALSE, preview = FALSE)
pkgdown::build_news(package, preview = FALSE)
pkgdown::build_articles(package, lazy = TRUE, preview = FALSE)

# Files to which the README links, where the links of its page expect them.
at_site <- function(...) {
  path <- file.path(package$dst_path, ...)
  dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
  path
}
examples <- list.files("inst/examples", pattern = "[.]R$", full.names = TRUE)
pictures <- Sys.glob("bench/scale/*.png")
for (file in c(examples, "man/figures/cheat-sheet.svg", pictures)) {
  file.copy(file, at_site(file), overwrite = TRUE)
}
rmarkdown::pandoc_convert(
  normalizePath("bench/README.md"),
  to = "html",
  output = at_site("bench", "README.html"),
  options = c("--standalone", "--metadata", "title=Measurements")
)
news <- "<meta http-equiv=\"refresh\" content=\"0; URL=news/index.html\">"
writeLines(news, at_site("NEWS.html"))

# Targets of a page's links to other pages and images of the site, as paths.
local_links <- function(page) {
  links <- xml2::xml_text(xml2::xml_find_all(xml2::read_html(page), "//a/@href | //img/@src"))
  links <- sub("[#?].*$", "", links)
  links <- links[nzchar(links) & !grepl("^[a-z]+:|^//", links)]
  file.path(dirname(page), utils::URLdecode(links))
}

pages <- list.files(package$dst_path, pattern = "[.]html$", recursive = TRUE, full.names = TRUE)
broken <- lapply(stats::setNames(pages, pages), function(page) {
  links <- local_links(page)
  unique(links[!file.exists(links)])
})
broken <- broken[lengths(broken) > 0]
for (page in names(broken)) {
  cat(page, "links to", toString(broken[[page]]), "\n")
}
cat(length(pages), "pages in", package$dst_path, "\n")
quit(status = if (length(broken) > 0) 1 else 0)
