"""Only commands that are known to do no more than they say pass a rule that denies others."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from genie_core.assistant.build import build_assistant
from genie_core.assistant.config import AssistantConfig, Rule, Sandbox
from genie_core.assistant.policy.commands import analyse
from genie_core.assistant.policy.known_commands import RUN_CODE
from genie_core.room.engine.approval_policy import PolicyResult, ToolCall

HARMLESS = """
ls -la docs; cat notes.md; head -n 5 notes.md; tail -5 notes.md; wc -l notes.md; sort -u notes.md;
grep -rn one docs; grep -e one -A 3 notes.md; rg -n one; rg --type py -g *.md one docs;
find . -name *.md -type f; find docs -maxdepth 2 -mtime -1; fd -e md; tree -L 2; du -sh docs;
stat -c %s notes.md; diff -u notes.md docs/a.md; cmp notes.md docs/a.md; cut -d , -f 1 notes.md;
file notes.md; md5sum notes.md; base64 notes.md; od -c notes.md; echo done; pwd; true; seq 3;
uname -a; which ls; basename docs/a.md; realpath docs; mkdir -p out/x; touch out/x/y;
cp notes.md copy.md; mv copy.md other.md; rm -f other.md; truncate -s 0 notes.md;
git status; git status --short; git log --oneline -5; git diff; git diff --stat; git show HEAD;
git branch; git ls-files; git rev-parse HEAD; git blame notes.md; git add notes.md
"""

UNKNOWN = """
7z aa ab ansible-playbook apt apt-get ar arch arch-chroot at atq autoconf autoreconf awk aws az batch
bc bash bmake bpftrace brew bun bundle busybox bwrap bzip2 c++ c99 cabal capsh cc certbot cfdisk
chgrp chmod chown chroot chrt cl.exe clang clang++ code composer conda containerd cpan cpio
crontab csh csplit ctags curl cvs darcs dash dc dd debugfs deno diff3 direnv dirmngr dlv dnf
docker dosbox dotnet dpkg dvips easy_install ed elixir elvish emacs emacsclient env eqn erl ex
exec expect faketime find2 fish flatpak flock fmtutil fossil fswatch fuser fzf g++ gawk gcc gcloud
gdb gem getfacl gh ghci gimp git-lfs git-shell glab gnuplot gpg gpg2 gradlew groff guile gunzip
gvim gzip hadoop helm hg hyperfine iconv idle ifconfig info inkscape inotifywait install ionice ip
ipython irb java javac joe jq jshell julia k9s kakoune kate kill killall ksh kubectl latex latexmk
ld ldd lein less lftp links ln logger logrotate lp lua luajit lynx lz4 m4 mail man mawk mc
mercurial micro minikube mksh mktemp mosh mount mpirun msgfmt mutt mvn2 mysql nano nawk nc ncat
nedit newgrp nice nix nmap node nodemon nohup npx nsenter numactl nvim objdump ocaml octave op
openssl osascript packer parallel parted patch pdflatex perf perl php pic pinentry ping pip-run
pkexec pm2 podman postgres prlimit prove ps psql pwsh pydoc3 pypy python python2 python3
python3.12 qemu R Rscript racket rbash rclone readelf restic rlwrap rsync ruby run-parts runuser
rustc rustup rvim sbcl scala scp screen script scss sdiff sed service setarch setpriv setsid sftp
sg sh shred skopeo socat source split sqlite3 ssh ssh-agent ssh-add start-stop-daemon stdbuf
strace strings su sudo svn sway swift systemctl systemd-run tar taskset tclsh tcsh tee telnet terraform
time timeout tmux top torsocks tox2 tr2 trap ts-node tsx ulimit unbuffer uniq unshare unsquashfs
unxz unzip uv uvx vagrant valgrind vi view vim vimdiff visudo w3m watch watchexec wget wine wish
xargs xdg-open xterm xxd xz yash yq zcat zip zmore zsh zstd ./build.sh
"""

OPTIONS = """
sort --compress-program=./x notes.md; sort --compress-prog=./x notes.md; sort -o x notes.md;
sort -uo x notes.md; sort --output=x notes.md; sort -T x notes.md; sort --files0-from=x;
rg --pre ./x one; rg --pre=./x one; rg --hostname-bin ./x one; rg -z one; rg -Lz one; rg --follow one;
find . -exec ./x +; find . -execdir ./x +; find . -ok ./x +; find . -delete; find . -fprint x;
find . -fls x; fd -x ./x; fd -X ./x; fd --exec ./x; fd --exec-batch=./x; fd -Hx ./x; fd -l;
tree -o x; tree -Io a x; tree -L2o x; tree -R; wc --files0-from=x; grep -R one; diff -r docs docs; diff -l notes.md notes.md;
diff --paginate notes.md x; cp --target-directory=x notes.md; cp -t x notes.md; cp -l notes.md x;
cp -s notes.md x; cp --backup notes.md x; cp --parents notes.md x; mv -t x notes.md; mv -b notes.md x;
file -C -m x; file -f x; file -z x; du --files0-from=x; md5sum -c x; tail --unknown notes.md;
git -c alias.x=!id x; git -C docs status; git x; git config core.pager x; git diff --ext-diff;
git diff --no-index notes.md x; git diff --output=x; git grep -Ox one; git log --textconv;
git -p log; git --paginate log; git --git-dir=x log; git difftool; git mergetool; git bisect run x;
git rebase -x x main; git submodule foreach x; git clone x; git fetch --upload-pack=x; git tag -v x;
git archive --remote=x HEAD; git filter-branch; git commit -F /etc/passwd;
git hook run x; git apply x; git am x; git worktree add x; git maintenance run; git instaweb;
A=b ls; docs/ls; /bin/ls; ls --unknown
"""

NO_PUSH = (Rule("allow", "run_command"), Rule("deny", command="git push*"))


def commands(text: str) -> list[str]:
    return [each.strip() for each in text.split(";")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for name in ("notes.md", "docs/a.md"):
        (tmp_path / name).write_text("one\n")
    return tmp_path.resolve()


def judge(root: Path, command: str, *rules: Rule, sandbox: Sandbox | None = None) -> PolicyResult:
    config = AssistantConfig(workspace=root, rules=rules, sandbox=sandbox or Sandbox("off"))
    built = build_assistant(config, owner="ann")
    return built.policy.evaluate(ToolCall("ann", "system", "run_command", {"command": command}))


@pytest.mark.parametrize("command", commands(HARMLESS))
def test_harmless_command_passes_denial(root: Path, command: str) -> None:
    assert judge(root, command, *NO_PUSH).effect == "allow"
    program = command.split()[0]
    assert judge(root, command, Rule("allow", command=f"{program} *")).effect == "allow"


def test_unknown_programs_do_not_pass_a_denial(root: Path) -> None:
    policy = build_assistant(
        AssistantConfig(workspace=root, rules=NO_PUSH, sandbox=Sandbox("off")), owner="ann"
    ).policy
    passed = []
    for program in (*UNKNOWN.split(), *RUN_CODE):
        for words in ((), ("x",), ("--version",), ("notes.md", "docs")):
            command = shlex.join((program, *words))
            call = ToolCall("ann", "system", "run_command", {"command": command})
            result = policy.evaluate(call)
            if result.effect != "ask" or not result.must_ask:
                passed.append(command)
    assert len(set(UNKNOWN.split())) > 250
    assert passed == []


@pytest.mark.parametrize("command", commands(OPTIONS))
def test_unknown_options_can_run_anything(root: Path, command: str) -> None:
    assert judge(root, command, *NO_PUSH).effect == "ask"
    assert analyse(command).anything
    assert judge(root, command, Rule("allow", command=f"{command.split()[0]} *")).effect == "ask"


@pytest.mark.parametrize(
    ("command", "rule", "effect"),
    [
        ("diff3 --diff-program=./build.sh a b c", Rule("allow", command="diff3 *"), "ask"),
        ("diff3 a b c", Rule("allow", command="diff3 a b c"), "allow"),
        ("make test", Rule("allow", "run_command"), "ask"),
        ("make test", Rule("allow", command="m*"), "ask"),
        ("make test", Rule("allow", command="make *"), "allow"),
        ("ruff check docs", Rule("allow", command="ruff *"), "allow"),
        ("ruff check --config=/tmp/x docs", Rule("allow", command="ruff *"), "ask"),
        ("mypy ../other", Rule("allow", command="mypy *"), "ask"),
    ],
)
def test_unknown_program_needs_its_words(root: Path, command: str, rule: Rule, effect: str) -> None:
    assert judge(root, command, rule, Rule("deny", command="git push*")).effect == effect


def test_shell_code_is_asked_despite_rule(root: Path) -> None:
    rules = (
        Rule("allow", arguments={"command": "make *", "shell": "true"}),
        Rule("deny", command="git push*"),
    )
    config = AssistantConfig(workspace=root, rules=rules, sandbox=Sandbox("off"))
    call = ToolCall("ann", "system", "run_command", {"command": "make x; sh y", "shell": True})
    assert build_assistant(config, owner="ann").policy.evaluate(call).effect == "ask"


@pytest.mark.parametrize(
    ("command", "effect"),
    [("git fetch", "ask"), ("git pull", "ask"), ("curl x", "ask"), ("git log", "allow")],
)
def test_a_denied_host_is_asked_about(root: Path, command: str, effect: str) -> None:
    rules = Rule("allow", "run_command"), Rule("deny", host="evil.example")
    assert judge(root, command, *rules).effect == effect


def test_a_program_of_the_workspace_is_unknown(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "docs" / "cat").write_text("#!/bin/sh\ngit push\n")
    (root / "docs" / "cat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/docs:{os.environ['PATH']}")
    result = judge(root, "cat notes.md", *NO_PUSH)
    assert (result.effect, result.must_ask) == ("ask", True)
    assert "a program of the workspace" in result.because


GIT = shutil.which("git") or ""


@pytest.mark.skipif(not GIT, reason="Git is not installed")
@pytest.mark.parametrize(
    "setting",
    [
        "core.fsmonitor=./x",
        "core.pager=./x",
        "core.hooksPath=docs",
        "core.sshCommand=./x",
        "alias.status=!./x",
        "filter.x.clean=./x",
        "diff.x.textconv=./x",
        "merge.x.driver=./x",
        "include.path=../x",
        "gpg.program=./x",
        "credential.helper=./x",
        "remote.origin.url=ext::./x",
        "remote.origin.uploadpack=./x",
        "diff.external=./x",
    ],
)
def test_repository_with_program_asks(root: Path, setting: str) -> None:
    subprocess.run([GIT, "init", "-q"], cwd=root, check=True)
    assert judge(root, "git status", *NO_PUSH).effect == "allow"
    name, _, value = setting.partition("=")
    subprocess.run([GIT, "config", name, value], cwd=root, check=True)
    asked = judge(root, "git status", *NO_PUSH)
    assert asked.effect == "ask"
    assert "the setting" in asked.because
    assert judge(root, "git status", Rule("allow", command="git *")).effect == "ask"


@pytest.mark.skipif(not GIT, reason="Git is not installed")
def test_bare_and_worktree_settings_count(root: Path) -> None:
    main, bare, tree = root / "main", root / "bare", root / "tree"
    for words in (
        ("init", "-q", str(main)),
        ("init", "-q", "--bare", str(bare)),
        ("-C", str(main), "-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "x",
         "--allow-empty"),
        ("-C", str(main), "worktree", "add", "-q", str(tree)),
    ):  # fmt: skip
        subprocess.run([GIT, *words], check=True)
    for folder in (main, bare, tree):
        assert judge(folder, "git log", *NO_PUSH).effect == "allow"
    for folder in (main, bare):
        subprocess.run([GIT, "-C", folder, "config", "core.fsmonitor", "./x"], check=True)
    for folder in (main, bare, tree):
        assert judge(folder, "git log", *NO_PUSH).effect == "ask"


@pytest.mark.skipif(not GIT, reason="Git is not installed")
def test_hooks_of_a_repository_are_its_code(root: Path) -> None:
    subprocess.run([GIT, "init", "-q"], cwd=root, check=True)
    (root / ".git" / "hooks").mkdir(exist_ok=True)
    (root / ".git" / "hooks" / "pre-commit").write_text("git push")
    assert judge(root, "git commit -m x", *NO_PUSH).effect == "ask"
    assert judge(root, "git commit -m log", *NO_PUSH).effect == "ask"
    assert judge(root, "git --no-pager log", *NO_PUSH).effect == "allow"
    assert judge(root, "git rev-parse HEAD", *NO_PUSH).effect == "allow"
    assert judge(root, "git commit -m x", Rule("allow", command="git commit*")).effect == "allow"
    assert judge(root, "git log", *NO_PUSH).effect == "allow"


@pytest.mark.skipif(not GIT, reason="Git is not installed")
@pytest.mark.parametrize("to", ["evil", "./evil", "file://{root}/evil"])
def test_push_to_folder_may_run_its_hooks(root: Path, to: str) -> None:
    for words in (("init", "-q", "--template="), ("init", "-q", "--bare", "evil")):
        subprocess.run([GIT, *words], cwd=root, check=True)
    rules = Rule("allow", "run_command"), Rule("deny", command="rm *")
    assert judge(root, "git push origin main", *rules).effect == "allow"
    asked = judge(root, f"git push {to.format(root=root)} main", *rules)
    assert asked.effect == "ask"
    assert "hooks" in asked.because


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("cp notes.md .git/hooks/post-merge", "ask"),
        ("cp notes.md docs/../.git/config", "ask"),
        ("mv notes.md docs/.git", "ask"),
        ("cp notes.md /usr/local/bin/ls", "ask"),
        ("cp notes.md docs", "allow"),
        ("rm -rf .cache", "allow"),
    ],
)
def test_copies_that_may_name_programs_are_asked(root: Path, command: str, effect: str) -> None:
    assert judge(root, command, *NO_PUSH).effect == effect
    assert judge(root, command, Rule("allow", "run_command")).effect == "allow"
