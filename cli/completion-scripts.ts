// The shell side of completion: small scripts that ask `hubctl __complete` what could stand at the cursor.

const bash = (command: string): string => `# bash completion for hubctl
_hubctl() {
  COMPREPLY=()
  local candidate
  while IFS= read -r candidate; do
    COMPREPLY+=("$candidate")
  done < <(${command} __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _hubctl hubctl
`;

const zsh = (command: string): string => `#compdef hubctl
# zsh completion for hubctl
_hubctl() {
  local -a candidates
  candidates=("\${(@f)$(${command} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${candidates[1]}" ]]; then
    compadd -- "\${candidates[@]}"
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _hubctl ]]; then
  _hubctl "$@"
else
  compdef _hubctl hubctl
fi
`;

/**
 * By the name of the shell. Where hubctl has no candidates, both fall back to file names. `program` is the path of the
 * executable: what is typed may be an alias, which a script cannot run.
 */
export function completionScript(shell: 'bash' | 'zsh', program: string): string {
  const command = `'${program.replaceAll("'", "'\\''")}'`;
  return shell === 'bash' ? bash(command) : zsh(command);
}
