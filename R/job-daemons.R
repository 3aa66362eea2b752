# Daemons of mirai that are hosts of a job. Only this session can send them work. The supervisor writes the command of
# the members into the directory `exchange`, as launch/frameworks/mirai.py describes, and this session sends it.

# A cluster whose daemons can be used now, with the fields that only this session knows. Other clusters are unchanged.
open_daemons <- function(cluster) {
  if (!inherits(cluster, "tfdistribute_mirai_cluster")) {
    return(cluster)
  }
  if (!requireNamespace("mirai", quietly = TRUE)) {
    abort_daemons("The package mirai is not installed.", "Use install.packages(\"mirai\").")
  }
  status <- mirai::status(cluster$profile)
  count <- max(cluster$workers) + cluster$ps
  if (!is.character(status$daemons)) {
    abort_daemons("No daemons of mirai are set.", "Use mirai::daemons({count}).")
  }
  if (is.null(status$mirai)) {
    abort_daemons(
      "The daemons of mirai have no dispatcher, so a task can wait behind another one.",
      "Set the daemons again with `dispatcher = TRUE`."
    )
  }
  if (status$connections < count) {
    abort_daemons(
      "The cluster needs {count} daemon{?s} of mirai, and {status$connections} {?is/are} connected.",
      "Use mirai::daemons({count}), or wait until all daemons have connected; see mirai::status()."
    )
  }
  exchange <- tempfile("tfdistribute-daemons-")
  dir.create(exchange, mode = "0700")
  cluster[c("address", "exchange")] <- list(address_of_daemons(status$daemons), exchange)
  cluster
}

abort_daemons <- function(problem, remedy, .envir = parent.frame()) {
  abort_tfdistribute(
    "cluster",
    problem = problem,
    remedy = remedy,
    argument = "cluster",
    .envir = .envir
  )
}

# The host of mirai's URL, such as "tls+tcp://10.0.0.1:5555". Daemons on this machine use other schemes.
address_of_daemons <- function(url) {
  if (!grepl("^(tls[+])?(tcp|ws|wss)[46]?://", url)) {
    return("127.0.0.1")
  }
  host <- sub("^.*://(\\[[^]]*\\]|[^:/]*).*$", "\\1", url)
  gsub("[][]", "", host)
}

# What this session knows about the members of a cluster; NULL for a cluster of another kind.
new_members <- function(cluster) {
  if (inherits(cluster, "tfdistribute_mirai_cluster")) {
    list2env(list(exchange = cluster$exchange, profile = cluster$profile, sent = list()))
  }
}

# Send the members of a new job as soon as its supervisor wants them.
occupy_daemons <- function(job, cluster) {
  members <- new_members(cluster)
  if (!is.null(members)) {
    the$members[[job$id]] <- members
    until <- Sys.time() + cluster$start_timeout_s
    while (is.null(update_job(job)$ended) && length(members$sent) == 0 && Sys.time() < until) {
      Sys.sleep(poll_s)
    }
    report_when_idle(function() is.null(update_job(job)$ended))
  }
  job
}

# Send the members again that were lost with their daemons, until the job in `state` has ended.
replace_daemons <- function(job, state) {
  members <- the$members[[job$id]]
  if (!is.null(members)) {
    if (is.null(state$ended)) {
      send_members(members)
    } else {
      unlink(members$exchange, recursive = TRUE)
      the$members[[job$id]] <- NULL
    }
  }
}

# Send each member that no daemon has. FALSE, because the caller in Python asks whether to stop waiting.
send_members <- function(members) {
  path <- file.path(members$exchange, "members.json")
  if (!file.exists(path)) {
    return(FALSE)
  }
  wanted <- jsonlite::read_json(path)
  for (index in seq_along(wanted$texts)) {
    sent <- if (index <= length(members$sent)) members$sent[[index]]
    if (is.null(sent) || !mirai::unresolved(sent) && may_send_again(sent$data, members)) {
      members$sent[[index]] <- send_member(wanted$command, wanted$texts[[index]], members$profile)
    }
  }
  FALSE
}

send_member <- function(command, text, profile) {
  mirai::mirai(
    # Without a shell in between, the member ends with its daemon.
    system2("exec", shQuote(unlist(command)), input = text, stdout = FALSE, stderr = FALSE),
    .args = list(command = command, text = text),
    .compute = profile
  )
}

# Whether a member that has ended with `value` may run elsewhere. If not, the supervisor is told why.
may_send_again <- function(value, members) {
  status <- mirai::status(members$profile)
  problem <- if (!is.character(status$daemons)) {
    "The daemons of mirai were reset."
  } else if (inherits(value, "miraiError")) {
    interpolate("A daemon of mirai cannot start the processes: {value}")
  } else if (!inherits(value, "errorValue") && value %in% 126:127) {
    "A daemon of mirai cannot run Python on its host."
  }
  if (!is.null(problem)) {
    remedy <- if (is.character(status$daemons)) {
      "Give the path of Python on the hosts of the daemons as `python`."
    } else {
      "Use mirai::daemons() again, and train again to continue from the newest checkpoint."
    }
    path <- file.path(members$exchange, "refusal.json")
    jsonlite::write_json(list(problem = problem, remedy = remedy), path, auto_unbox = TRUE)
    return(FALSE)
  }
  if (inherits(value, "errorValue") && grepl("^(abstract|ipc)://", status$daemons)) {
    # Only daemons on this machine have such a URL.
    mirai::launch_local(1, .compute = members$profile)
  }
  TRUE
}
