"""The commands that are known to do nothing beyond their words.

These run no other program, send nothing, and write only files that they name. A program, a
subcommand or an option that is not listed here can run anything.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

Use: TypeAlias = Literal[
    "content", "searches", "follows", "writes", "copies", "moves", "history", "checkout", "connects"
]
"""A way in which a command uses files or the network.

"content": it reads the named files, and those below a named folder. "searches": it also reads the
folder where it runs, if it gets no other. "follows": it also follows links in folders. "writes": it changes the named
files. "copies" and "moves": it writes the last named place. "history": it can show earlier versions
of files. "checkout": it writes files that its words don't name. "connects": it reaches hosts that
its words don't name.
"""


def _words(text: str) -> list[str]:
    return text.split()


class Reach(NamedTuple):
    """The reach of a command beyond its own words. `anything`: all, for the reason `why`."""

    anything: bool = False
    why: str = ""
    uses: frozenset[Use] = frozenset()


class _Known(NamedTuple):
    options: re.Pattern[str]
    uses: frozenset[Use]


def _known(flags: str, valued: str, names: str, *uses: Use) -> _Known:
    """Return a program by its options in full, as programs also take the beginnings of some.

    A value may follow the letters `valued` and the `names`. Few letters before a value are known,
    so that the value is found when the files of a command are looked for.
    """
    words = "|".join(map(re.escape, _words(names)))
    options = rf"--?|-[{flags}]+|-[0-9]+|--({words})(=.*)?"
    options += rf"|-[{flags}]{{0,6}}[{valued}].*" if valued else ""
    return _Known(re.compile(options, re.DOTALL), frozenset(uses))


_READING: Final = {
    "cat": _known("AbeEnstTuv", "", "number squeeze-blank show-all show-ends show-tabs",
                  "content"),
    "tac nl": _known("bp", "bdfhilnsvw", "before separator body-numbering", "content"),
    "head tail": _known("fFqvrz", "cns", "lines bytes quiet silent verbose follow retry pid",
                        "content"),
    "wc": _known("clLmw", "", "bytes chars lines words max-line-length total", "content"),
    "cut": _known("nsz", "bcdf", "bytes characters delimiter fields only-delimited complement",
                  "content"),
    "paste join comm": _known("123sizd", "aejotvd12", "delimiters serial ignore-case header",
                              "content"),
    "sort": _known("bCcdfghiMmnRrsuVz", "ktS",
                   "key reverse unique numeric-sort human-numeric-sort version-sort ignore-case "
                   "field-separator check stable", "content"),
    "fold fmt expand unexpand rev": _known("abcistu", "gptw", "width tabs spaces", "content"),
    "column": _known("entx", "cosNHRT", "table separator output-separator", "content"),
    "od hexdump": _known("abcCdfhiloOsxvw", "AjNtTnsL", "bytes radix format", "content"),
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum":
        _known("bglrstz", "", "binary tag text zero", "content"),
    "base64 base32": _known("di", "w", "decode ignore-garbage wrap", "content"),
    "cmp": _known("bls", "in", "bytes print-bytes silent quiet verbose ignore-initial",
                  "content"),
    "diff": _known("abBcdeEiNnpqstTuwyZ", "CIUW",
                   "brief unified context side-by-side ignore-case ignore-all-space "
                   "ignore-space-change ignore-blank-lines width suppress-common-lines color text",
                   "content", "follows"),
    "grep egrep fgrep": _known(
        "abcEFGhHiIlLnoPqrsTuvVwxyzZ", "ABCDdefm",
        "extended-regexp fixed-strings basic-regexp perl-regexp regexp file ignore-case "
        "no-ignore-case word-regexp line-regexp no-messages invert-match max-count line-number "
        "with-filename no-filename only-matching quiet silent text recursive include exclude "
        "exclude-dir files-without-match files-with-matches count after-context before-context "
        "context color colour binary-files", "content"),
    "rg": _known(
        "acFhHiIlnNopPqsSuUvVwx0.", "ABCEMdefgjmrtT",
        "after-context before-context context case-sensitive ignore-case smart-case color colors "
        "column count count-matches encoding file files files-with-matches files-without-match "
        "fixed-strings glob iglob heading no-heading hidden invert-match json line-number "
        "no-line-number line-regexp max-columns max-count max-depth multiline no-filename "
        "with-filename no-ignore no-ignore-vcs no-messages null only-matching pcre2 pretty quiet "
        "regexp replace sort sortr stats text trim type type-list type-not vimgrep word-regexp",
        "content", "searches"),
    "file": _known("bhiNprs0", "F", "brief mime mime-type mime-encoding", "content"),
}  # fmt: skip
_LISTING: Final = {
    "ls dir vdir": _known(
        "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1", "ITw",
        "all almost-all author classify color directory full-time group-directories-first "
        "human-readable inode recursive reverse size sort time time-style width ignore hide"),
    "stat": _known("Lft", "c", "dereference file-system format printf terse"),
    "du df": _known("0abcDhHiklLmPsSTx", "Bdt",
                    "all apparent-size human-readable max-depth summarize total si exclude type"),
    "tree": _known("aAcdDfFghiIlLnNpPqrsStuUvx", "",  # its letters go on behind a value's one
                   "noreport dirsfirst prune du gitignore filelimit si"),
    "fd fdfind": _known("01aFgHiILpqsu", "dEejSt",
                        "absolute-path color exclude extension full-path glob hidden ignore-case "
                        "max-depth min-depth max-results no-ignore print0 size type"),
    "basename dirname realpath readlink": _known("aefLmnPqsvz", "s", "multiple suffix zero"),
    "pwd whoami id groups uname nproc uptime locale lscpu cal":
        _known("aBdghiLmnoPprsvyVz13", "", "all version help"),
    "echo printf true false seq expr factor sleep test [ which":
        _known("abcdefghknoprstuvwxzEGILNOSnw", "fs",
               "all equal-width format separator version help"),
}  # fmt: skip
_WRITING: Final = {
    "mkdir rmdir": _known("pv", "m", "parents mode verbose ignore-fail-on-non-empty", "writes"),
    "touch": _known("achm", "drt", "no-create date reference time no-dereference", "writes"),
    "rm unlink": _known("dfiIrRv", "", "force recursive verbose dir one-file-system", "writes"),
    "truncate": _known("co", "rs", "no-create size reference", "writes"),
    "cp": _known("adfHinpPrRTuvx", "", "archive force no-clobber preserve recursive update "
                 "verbose no-dereference interactive", "content", "copies"),
    "mv": _known("finTuv", "", "force no-clobber update verbose interactive", "moves"),
}  # fmt: skip

_PROGRAMS: Final[Mapping[str, _Known]] = {
    name: known
    for table in (_READING, _LISTING, _WRITING)
    for names, known in table.items()
    for name in _words(names)
}

_GREP_SEARCHES: Final = re.compile(r"-[a-zA-Z]*[rd].*|--recursive")

_FIND_WORDS: Final = re.compile(
    r"-([HLPOadlo!]|O[0-9]|and|or|not|[aci](time|min)|[acm]min|mtime|i?name|i?path|i?wholename|"
    r"i?regex|i?lname|regextype|x?type|maxdepth|mindepth|size|newer(..)?|anewer|cnewer|empty|perm|"
    r"user|group|uid|gid|print0?|ls|prune|depth|xdev|mount|daystart|links|inum|samefile|readable|"
    r"writable|executable|true|false|quit|nowarn|warn|noleaf|printf|used|nouser|nogroup|fstype|"
    r"[0-9].*)"
)
"""Words of find that run no program and change no file."""

BUILDERS: Final = frozenset(
    _words(
        "make gmake ninja cmake ctest just task rake npm pnpm yarn pip pip3 poetry hatch tox "
        "nox pytest cargo go gradle mvn ant bazel meson"
    )
)
"""Programs that run code of the workspace; a rule that allows them by name means that."""

CHECKERS: Final = frozenset(
    _words(
        "ruff mypy black isort flake8 pylint pyright bandit eslint prettier biome tsc stylelint "
        "jest vitest mocha rubocop rspec shellcheck shfmt clang-format clang-tidy rustfmt gofmt "
        "golangci-lint phpunit phpstan yamllint markdownlint hadolint codespell"
    )
)
"""The same for programs that check the files that they name."""

RUN_CODE: Final = BUILDERS | CHECKERS

_BUILDER_FREE: Final = re.compile(r"-.*|.*[=/].*|run|exec|install|x|dlx|shell|add|publish")
"""Words by which builders run other programs, or code from elsewhere."""

_CHECKER_FREE: Final = re.compile(
    r"--?(?!(fix|check|diff|quiet|verbose|watch=false|strict|write|noEmit|[clnqvwx])$).*|.*=.*|"
    r"[/~].*|(.*/)?\.\.(/.*)?|serve?r?|daemon|lsp"
)
"""Words by which checkers may do more than check, or lead out of the workspace."""

_NODE_FREE: Final = re.compile(
    r"i|in|ins|inst|insta|instal|install-.*|isn.*|it|ci|cit|clean-install.*|create|init|innit|run.*|"
    r"rum|urn|up|update|upgrade|explore|edit|config|set|c"
)
_MORE_FREE: Final = {
    **dict.fromkeys(("npm", "pnpm", "yarn"), _NODE_FREE),
    **dict.fromkeys(("pip", "pip3"), re.compile("download|wheel|config")),
    "go": re.compile("get|env|tool"),
    "mvn": re.compile(".*:.*"),
}
"""The same for single builders: their other names for these words."""

_GIT: Final[Mapping[str, frozenset[Use]]] = {
    **dict.fromkeys(
        _words(
            "describe ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show-ref "
            "status version log reflog add branch commit tag"
        ),
        frozenset[Use](),
    ),
    **dict.fromkeys(("blame", "cat-file", "diff", "show"), frozenset[Use]({"history"})),
    **dict.fromkeys(("restore", "rm", "switch"), frozenset[Use]({"checkout"})),
    "stash": frozenset[Use]({"history", "checkout"}),
    **dict.fromkeys(("fetch", "push"), frozenset[Use]({"connects"})),
    "pull": frozenset[Use]({"connects", "checkout"}),
}
"""Subcommands of git that run no program named in their arguments; others may be aliases."""

_GIT_WITHOUT_HOOKS: Final = frozenset(
    _words(
        "blame cat-file describe log ls-files ls-tree merge-base name-rev reflog rev-list "
        "rev-parse shortlog show show-ref version"
    )
)
"""Subcommands that run no hook, as they change neither the index nor a reference."""

_GIT_OPTIONS: Final = re.compile(
    r"--|-[0-9]+|-[abfmnpqv]|-sb|-vv|-am|-A|-U[0-9]+|-L[0-9,]+|-w|-n[0-9]+|"
    r"--(all|cached|staged|oneline|graph|stat|short|long|branch|porcelain|patch|quiet|verbose|force|"
    r"delete|list|merged|tags|prune|numstat|shortstat|summary|reverse|follow|color|decorate|check|"
    r"minimal|patience|histogram|raw|abbrev-commit|amend|no-edit|name-only|name-status|"
    r"first-parent|no-merges|word-diff|show-current|ff-only|dry-run|ignore-space-change|"
    r"ignore-all-space|set-upstream)|"
    r"--(since|until|after|before|author|grep|pretty|format|date|message|max-count|unified|"
    r"color|decorate|porcelain|stat|abbrev)=.*"
)
"""Options that name no program and no file, in full: git also takes the beginnings of others."""

_GIT_SHOWS: Final = re.compile(
    r"-v+|--verbose|-p|--patch|-[UL].*|--unified=.*|--word-diff|--check|--format=.*\(.*"
)
"""Options by which a log or a status has the content of files."""


def reach_of(program: str, words: Sequence[str]) -> Reach:
    """Return the reach of a command by the name of its program and the other words."""
    if program == "git":
        return _git_reach(words)
    if program == "find":
        free = next((each for each in words if _is_free(each, _FIND_WORDS)), "")
        return _unless(free, f"find {free} may run programs or change files", Reach())
    if program in RUN_CODE:
        return _reach_of_builder(program, words)
    known = _PROGRAMS.get(program)
    if known is None:
        return Reach(
            anything=True, why=f"{program} is not among the programs that run nothing else"
        )
    free = next((each for each in words if _is_free(each, known.options)), "")
    unknown = f"{program} {free} is not among the options that run nothing else"
    searches = program.endswith("grep") and any(map(_GREP_SEARCHES.fullmatch, words))
    more = frozenset[Use]({"searches"} if searches else ())
    return _unless(free, unknown, Reach(uses=known.uses | more))


def runs_hooks(words: Sequence[str]) -> bool:
    """Whether these words of a known git command run the hooks of its repository."""
    subcommand = next((each for each in words if not each.startswith("-")), "")
    return subcommand not in _GIT_WITHOUT_HOOKS


def _unless(word: str, why: str, reach: Reach) -> Reach:
    return Reach(anything=True, why=why) if word else reach


def _is_free(word: str, known: re.Pattern[str]) -> bool:
    return word.startswith("-") and not known.fullmatch(word)


def _reach_of_builder(program: str, words: Sequence[str]) -> Reach:
    free = _BUILDER_FREE if program in BUILDERS else _CHECKER_FREE
    more = _MORE_FREE.get(program, free)
    word = next((each for each in words if free.fullmatch(each) or more.fullmatch(each)), "")
    names = f"{program} {word} can name a program or code to run"
    return _unless(word, names, Reach(why=f"{program} runs code of the workspace"))


def _git_reach(words: Sequence[str]) -> Reach:
    """Say whether git may run other programs, or read or write outside of the repository."""
    if words and words[0] == "--no-pager":
        words = words[1:]
    if not words or words[0] not in _GIT:
        named = f"git {words[0]}" if words else "git"
        return Reach(anything=True, why=f"{named} may run other programs")
    for word in words[1:]:
        if _is_free(word, _GIT_OPTIONS) or (words[0], word) == ("tag", "-v"):
            return Reach(
                anything=True, why=f"git {words[0]} {word} can name a program or a file to use"
            )
        if word.startswith(("/", "~")) or ".." in word.split("/") or "::" in word:
            return Reach(anything=True, why=f"git {words[0]} {word} leads out of the workspace")
    shows = any(map(_GIT_SHOWS.fullmatch, words))
    return Reach(uses=_GIT[words[0]] | frozenset[Use]({"history"} if shows else ()))
