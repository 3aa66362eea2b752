"""Supported versions of TensorFlow, the packages that each needs, and what is installed."""

import importlib.metadata
import re

from tfdistribute.rules import Finding

# The versions that the tests run with. Those between them are supported too.
TESTED = ("2.15", "2.18", "2.21")
# Installed by install_tfdistribute() unless the user asks for another.
DEFAULT = "2.21"
# The last TensorFlow with Estimators and Keras 2 of its own.
LAST_COMPLETE = (2, 15)

ESTIMATOR = "2.15.0"

# TensorFlow's distributions. They write into the same folder.
TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos")


def installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def tensorflow() -> str | None:
    return next((found for name in TENSORFLOWS if (found := installed(name))), None)


def is_newer(version: str | None) -> bool:
    """Return whether a TensorFlow lacks Estimators and has Keras 3, as from 2.16 on; None counts as newer."""
    return version is None or _minor(version) > LAST_COMPLETE


def packages() -> dict[str, str | None]:
    version = tensorflow()
    keras = {name: installed(name) for name in ("keras", "tf_keras")}
    keras_2 = "tf_keras" if is_newer(version) else "keras"
    answer: dict[str, str | None] = {
        "tensorflow": version,
        "tensorflow-estimator": installed("tensorflow-estimator"),
        "Keras 2": _named(keras_2, keras[keras_2]),
    }
    if keras["keras"] is not None and _minor(keras["keras"]) >= (3, 0):
        answer["Keras 3"] = _named("keras", keras["keras"])
    return {**answer, "numpy": installed("numpy")}


def problems() -> list[Finding]:
    version = tensorflow()
    if version is None:
        return [_finding("tensorflow", "TensorFlow is not installed.", pip_line(DEFAULT))]
    return [*_tensorflow_problems(version), *_estimator_problems(), *_keras_problems(version)]


def requirements(version: str) -> list[str]:
    """Return the requirements of pip for a version of TensorFlow, "2.15" to "2.21", on CPUs.

    ``tf_keras`` requires ``tensorflow``: beside ``tensorflow-cpu``, pip would install both over each other.
    """
    if not is_newer(version):
        pinned = [f"tensorflow-cpu=={version}.*", "numpy<2", "pyarrow<21"]
    else:
        pinned = [
            f"tensorflow=={version}.*",
            f"tf_keras=={version}.*",
            "tensorboard",
            "numpy",
            "pyarrow",
        ]
    return [*pinned, f"tensorflow-estimator=={ESTIMATOR}", "google-crc32c"]


def locked() -> list[str]:
    """Return the requirements of this environment in their exact versions, with all packages that they need."""
    pending = [_name_of(each) for each in requirements(DEFAULT)] + list(TENSORFLOWS)
    found: dict[str, str] = {}
    for name in pending:
        if name not in found and (version := installed(name)) is not None:
            found[name] = version
            needed = importlib.metadata.requires(name) or ()
            pending += [_name_of(each) for each in needed if "extra ==" not in each]
    return sorted(f"{name}=={version}" for name, version in found.items())


def pip_line(version: str) -> str:
    return f"pip install {' '.join(_quoted(item) for item in requirements(version))}"


def _tensorflow_problems(found: str) -> list[Finding]:
    several = {name: version for name in TENSORFLOWS if (version := installed(name))}
    answer: list[Finding] = []
    if len(set(several.values())) > 1:
        listed = " and ".join(f"{name} {version}" for name, version in several.items())
        remove = f"pip uninstall {' '.join(several)}"
        answer.append(
            Finding(
                "tensorflow",
                f"{listed} are installed over each other.",
                f"Run `{remove}`, then `{pip_line(TESTED[-1])}`.",
            )
        )
    oldest, newest = _minor(TESTED[0]), _minor(TESTED[-1])
    if not oldest <= _minor(found) <= newest:
        which = (
            f"older than {TESTED[0]}, the oldest version that tfdistribute supports"
            if _minor(found) < oldest
            else f"newer than {TESTED[-1]}, the newest version that tfdistribute is tested with"
        )
        answer.append(
            _finding("tensorflow", f"TensorFlow {found} is {which}.", pip_line(TESTED[-1]))
        )
    numpy = installed("numpy")
    if not is_newer(found) and numpy is not None and _minor(numpy) >= (2, 0):
        problem = f"numpy {numpy} is installed, and TensorFlow {found} needs numpy 1."
        answer.append(_finding("numpy", problem, 'pip install "numpy<2"'))
    return answer


def _estimator_problems() -> list[Finding]:
    version = installed("tensorflow-estimator")
    if version is not None and _minor(version) == _minor(ESTIMATOR):
        return []
    state = "not installed" if version is None else f"installed in version {version}"
    return [
        _finding(
            "tensorflow-estimator",
            f"tensorflow-estimator is {state}, and tfdistribute needs {ESTIMATOR}.",
            f"pip install --no-deps tensorflow-estimator=={ESTIMATOR}",
        )
    ]


def _keras_problems(tensorflow_version: str) -> list[Finding]:
    name = "tf_keras" if is_newer(tensorflow_version) else "keras"
    found, wanted = installed(name), _minor(tensorflow_version)
    if found is not None and _minor(found) == wanted:
        return []
    needed = ".".join(str(part) for part in wanted)
    state = "not installed" if found is None else f"installed in version {found}"
    return [
        _finding(
            name,
            f"{name} is {state}, and the Estimators of TensorFlow {tensorflow_version} need {name} {needed} (Keras 2).",
            # --no-deps: tf_keras would bring the distribution tensorflow over tensorflow-cpu.
            f'pip install --no-deps "{name}=={needed}.*"',
        )
    ]


def _finding(package: str, problem: str, command: str) -> Finding:
    return Finding(package, problem, f"Run `{command}`.")


def _name_of(requirement: str) -> str:
    """Return the normalized name of a package, so that each is listed once."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return "" if name is None else re.sub(r"[._-]+", "-", name.group()).lower()


def _quoted(requirement: str) -> str:
    return f'"{requirement}"' if set("*<>[") & set(requirement) else requirement


def _named(package: str, version: str | None) -> str | None:
    return None if version is None else f"{version} ({package})"


def _minor(version: str) -> tuple[int, int]:
    major, _, rest = version.partition(".")
    return int(major), int(rest.partition(".")[0] or 0)
