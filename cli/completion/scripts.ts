// Completion scripts for shells: they ask `hubctl __complete` for candidates.

/** Tells a shell to offer file names. No candidate begins with a colon. */
export const FILES = ':files';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

const bash = (command: string): string => `# bash completion for hubctl
_hubctl() {
  COMPREPLY=()
  local line
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(${command} __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _hubctl hubctl
`;

const zsh = (command: string): string => `#compdef hubctl
# zsh completion for hubctl
_hubctl() {
  local line files
  local -a candidates
  for line in "\${(@f)$(${command} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == ${FILES} ]]; then
      files=1
    elif [[ -n $line ]]; then
      candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  if (( $#candidates )); then
    _describe hubctl candidates
  elif [[ -n $files ]]; then
    _files
  fi
}
if [[ "\${funcstack[1]}" == _hubctl ]]; then
  _hubctl "$@"
else
  compdef _hubctl hubctl
fi
`;

const fish = (command: string): string => `# fish completion for hubctl
function __hubctl_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -l lines (${command} __complete $words[2..-1] "$current" 2>/dev/null)
  if contains -- ${FILES} $lines
    __fish_complete_path "$current"
  else if set -q lines[1]
    printf '%s\\n' $lines
  end
end
complete -c hubctl -e
complete -c hubctl -f -a '(__hubctl_complete)'
`;

const SCRIPTS = { bash, zsh, fish };

/** `program` is the path of the executable: the typed word may be an alias, which a script cannot run. */
export function completionScript(shell: Shell, program: string): string {
  return SCRIPTS[shell](`'${program.replaceAll("'", "'\\''")}'`);
}
