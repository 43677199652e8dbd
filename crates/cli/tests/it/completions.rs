//! `cosmonaut completions` and `cosmonaut man`: scripts that shells take, pages that are whole.

use std::process::Command;

use crate::account::Ended;
use crate::cosmonaut;

fn ok(arguments: &[&str]) -> String {
    let ended = Ended::of(cosmonaut(arguments).output().unwrap());
    assert_eq!(ended.status, 0, "{}", ended.error);
    ended.output
}

#[test]
fn every_shell_has_a_script_that_knows_the_commands() {
    for (shell, part) in [
        ("bash", "complete -F _cosmonaut"),
        ("zsh", "#compdef cosmonaut"),
        ("fish", "complete -c cosmonaut"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = ok(&["completions", shell]);
        assert!(script.contains(part) && script.contains("partition-key"), "{shell}: {}", script.len());
    }
    let ended = Ended::of(cosmonaut(&["completions", "tcl"]).output().unwrap());
    assert!(ended.status == 2 && ended.error.contains("powershell"), "{}", ended.error);
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_and_options() {
    if Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source /dev/stdin; COMP_WORDS=({words}); COMP_CWORD={at}; at={at}; \
             _cosmonaut cosmonaut \"${{COMP_WORDS[at]}}\" \"${{COMP_WORDS[at-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash")
            .args(["--norc", "-c", &script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let text = ok(&["completions", "bash"]);
        std::io::Write::write_all(&mut bash.stdin.take().unwrap(), text.as_bytes()).unwrap();
        Ended::of(bash.wait_with_output().unwrap()).output
    };
    assert_eq!(complete("cosmonaut qu", 1).trim(), "query");
    assert_eq!(complete("cosmonaut item pa", 2).trim(), "patch");
    assert!(complete("cosmonaut query --par", 2).contains("--partition-key"));
}

#[test]
fn there_is_a_page_for_each_command() {
    let page = ok(&["man"]);
    assert!(page.contains(".TH cosmonaut") && page.contains("cosmonaut\\-query(1)"), "{page}");
    assert!(ok(&["man", "region", "fault"]).contains("drop\\-response"));
    let ended = Ended::of(cosmonaut(&["man", "nonsense"]).output().unwrap());
    assert!(ended.status == 2 && ended.error.contains("\"nonsense\""), "{}", ended.error);

    let directory = std::env::temp_dir().join(format!("cosmonaut-man-{}", std::process::id()));
    ok(&["man", "--directory", directory.to_str().unwrap()]);
    for name in ["cosmonaut.1", "cosmonaut-shell.1", "cosmonaut-container-split.1"] {
        let page = std::fs::read_to_string(directory.join(name)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    std::fs::remove_dir_all(directory).unwrap();
}
