// The shell side of completion: small scripts that ask `hubctl __complete` what could stand at the cursor.

const BASH = `# bash completion for hubctl
_hubctl() {
  COMPREPLY=()
  local candidate
  while IFS= read -r candidate; do
    COMPREPLY+=("$candidate")
  done < <("\${1/#\\~/$HOME}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _hubctl hubctl
`;

const ZSH = `#compdef hubctl
# zsh completion for hubctl
_hubctl() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
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

/** By the name of the shell. Where hubctl has no candidates, both fall back to file names. */
export const COMPLETION_SCRIPTS = { bash: BASH, zsh: ZSH } as const;
