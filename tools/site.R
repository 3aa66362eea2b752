# Build the site in .environment/site without the internet, and check that its links lead somewhere and that its pages
# need nothing from elsewhere. Examples are shown and not run; articles are run.
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
readme <- readLines("README.md", encoding = "UTF-8")
linked <- unlist(regmatches(readme, gregexpr("(?<=\\]\\()[^)#:]+(?=\\))", readme, perl = TRUE)))
pictures <- Sys.glob("bench/scale/*.png")
for (file in c(grep("[.]md$|^vignettes", linked, value = TRUE, invert = TRUE), pictures)) {
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

# pkgdown leaves the contents of a page and the search to scripts from the internet, of which
# pkgdown/templates/head.html has none: list the sections, and remove the search.
finish_page <- function(page) {
  html <- xml2::read_html(page)
  headings <- xml2::xml_find_all(html, "//main//h2[@id or parent::div/@id]")
  items <- vapply(headings, contents_item, "")
  list_of_items <- paste0("<ul class=\"nav flex-column\">", paste(items, collapse = ""), "</ul>")
  # An article that has not changed since the last time has its contents.
  for (contents in xml2::xml_find_all(html, "//nav[@id='toc'][not(ul)]")) {
    if (length(items) > 0) {
      xml2::xml_add_child(contents, xml2::read_xml(list_of_items))
    } else {
      xml2::xml_remove(contents)
    }
  }
  xml2::xml_remove(xml2::xml_find_all(html, "//form[@role='search']"))
  # The folder of the vignettes and an article, as README names them.
  pages <- c(
    vignettes = "articles/index.html",
    "vignettes/articles/all-features.Rmd" = "articles/all-features.html"
  )
  for (link in names(pages)) {
    links <- xml2::xml_find_all(html, sprintf("//a[@href='%s']", link))
    xml2::xml_set_attr(links, "href", pages[[link]])
  }
  xml2::write_html(html, page, format = FALSE)
}

contents_item <- function(heading) {
  link <- xml2::xml_find_first(heading, "(@id | parent::div/@id)[last()]")
  text <- gsub("&", "&amp;", xml2::xml_text(heading, trim = TRUE), fixed = TRUE)
  text <- gsub("<", "&lt;", text, fixed = TRUE)
  paste0("<li><a class=\"nav-link\" href=\"#", xml2::xml_text(link), "\">", text, "</a></li>")
}

# What is wrong with a page: links to pages and images that are empty or not there, what it reads from the internet or
# from this machine, a list of contents without entries, and figures without a caption.
faults_of <- function(page) {
  html <- xml2::read_html(page)
  text_of <- function(path) xml2::xml_text(xml2::xml_find_all(html, path))
  assets <- text_of("//@src | //link/@href | //object/@data | //img/@srcset")
  links <- c(assets, text_of("//a/@href"))
  from_elsewhere <- c(
    grep("^([a-z]+:)?//", assets, value = TRUE),
    grep("^file:", links, value = TRUE)
  )
  links <- sub("[#?].*$", "", links)
  links <- links[nzchar(links) & !grepl("^[a-z]+:|^//", links)]
  targets <- file.path(dirname(page), utils::URLdecode(links))
  without_caption <- text_of("//main//img[@src!=''][not(../p[@class='caption'])]/@src")
  unique(c(
    from_elsewhere,
    targets[!file.exists(targets) | dir.exists(targets) | file.size(targets) %in% 0],
    rep("no contents", length(text_of("//nav[@id='toc'][not(ul)]"))),
    sprintf("no caption of %s", without_caption)
  ))
}

# What a stylesheet reads from elsewhere.
imports <- function(style) {
  text <- readLines(style, warn = FALSE)
  regmatches(text, regexpr("(url\\(|@import) *[\"']?([a-z]+:)?//[^\"')]*", text))
}

files_named <- function(pattern) {
  found <- list.files(package$dst_path, pattern, recursive = TRUE, full.names = TRUE)
  stats::setNames(found, found)
}
pages <- files_named("[.]html$")
for (page in pages) {
  finish_page(page)
}
faults <- c(lapply(pages, faults_of), lapply(files_named("[.]css$"), imports))
faults <- faults[lengths(faults) > 0]
for (file in names(faults)) {
  cat(file, ": ", toString(faults[[file]]), "\n", sep = "")
}
cat(length(pages), "pages in", package$dst_path, "\n")
quit(status = if (length(faults) > 0) 1 else 0)
