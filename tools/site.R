# Build the site in .environment/site without the internet, and check that its links lead somewhere and that its pages
# need nothing from elsewhere. Examples are shown and not run; articles are run. With --links, it only checks: in a
# temporary folder, where articles are not run and help pages are empty, in half a minute.
library(tfdistribute)
options(pkgdown.internet = FALSE)
only_links <- identical(commandArgs(trailingOnly = TRUE), "--links")

# downlit would ask CRAN for the sites of packages that are not installed.
no_sites <- function() data.frame(Package = character(), URL = character())
utils::assignInNamespace("CRAN_urls", no_sites, "downlit")

place <- if (only_links) list(destination = tempfile("site")) else list()
package <- pkgdown::as_pkgdown(".", override = place)
at_site <- function(...) {
  path <- file.path(package$dst_path, ...)
  for (folder in unique(dirname(path))) {
    dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  }
  path
}
as_page <- function(file, page) {
  rmarkdown::pandoc_convert(
    normalizePath(file),
    from = "markdown",
    to = "html",
    output = page,
    options = c("--standalone", "--metadata", paste0("title=", basename(dirname(page))))
  )
}

pkgdown::init_site(package)
pkgdown::build_home(package, quiet = TRUE, preview = FALSE)
pkgdown::build_news(package, preview = FALSE)
if (only_links) {
  help_pages <- sub("Rd$", "html", list.files("man", "[.]Rd$"))
  for (page in at_site("reference", c("index.html", help_pages))) {
    writeLines("<p>A help page</p>", page)
  }
  for (name in package$vignettes$name) {
    as_page(
      file.path("vignettes", paste0(name, ".Rmd")),
      at_site("articles", paste0(basename(name), ".html"))
    )
  }
  writeLines("<p>All articles</p>", at_site("articles", "index.html"))
  invisible(file.copy("vignettes/figures", at_site("articles"), recursive = TRUE))
} else {
  pkgdown::build_reference(package, examples = FALSE, devel = FALSE, preview = FALSE)
  pkgdown::build_articles(package, lazy = TRUE, preview = FALSE)
}

# What a text in Markdown links to, as paths from the root of the sources.
linked_by <- function(file) {
  lines <- readLines(file, encoding = "UTF-8")
  links <- unlist(regmatches(lines, gregexpr("(?<=\\]\\()[^)#:]+(?=\\))", lines, perl = TRUE)))
  folder <- dirname(file)
  links <- if (folder == ".") links else file.path(folder, links)
  # "bench/quality/../../man" is "man".
  sub("^/", "", xml2::url_absolute(links, "/"))
}

# Files that are linked, where the links expect them; measurements are pages.
texts <- list.files("bench", "^README[.]md$", recursive = TRUE, full.names = TRUE)
linked <- unique(unlist(lapply(c("README.md", texts), linked_by)))
for (file in linked[utils::file_test("-f", linked) & !grepl("[.]md$", linked)]) {
  file.copy(file, at_site(file), overwrite = TRUE)
}
for (text in texts) {
  as_page(text, at_site(sub("md$", "html", text)))
}
writeLines(
  "<meta http-equiv=\"refresh\" content=\"0; URL=news/index.html\">",
  at_site("NEWS.html")
)

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
