// Completion of a command line that is being typed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { complete } from '../../cli/complete.ts';
import { createProgram } from '../../cli/program.ts';
import { ended, HUBCTL, hubctl, MACHINE_PATH } from './spawn-hubctl.ts';

const { program } = createProgram(process);
const at = (...words: string[]) => complete(program, words);

describe('completion', function () {
  this.timeout(30_000); // it starts programs

  it('offers the commands, and those of a command', () => {
    expect(at('')).to.include.members(['app', 'license', 'key', 'help']);
    expect(at('li')).to.deep.equal(['limits', 'license']);
    expect(at('license', 're')).to.deep.equal(['revoke', 'reinstate']);
  });

  it('offers the options of a command and the global ones', () => {
    expect(at('key', 'issue', '--o')).to.deep.equal(['--out', '--output']);
    expect(at('--se')).to.deep.equal(['--server']);
  });

  it('offers the values of options and arguments that have a fixed choice', () => {
    expect(at('license', 'list', '--state', '')).to.deep.equal(['active', 'revoked', 'expired']);
    expect(at('license', 'list', '--state=re')).to.deep.equal(['--state=revoked']);
    expect(at('completion', '')).to.deep.equal(['bash', 'zsh']);
    expect(at('completion', 'bash', '')).to.deep.equal([]);
  });

  it('takes the value of an option for neither a command nor an argument', () => {
    expect(at('--server', 'app', 'key', '')).to.deep.equal(['issue', 'help']);
    expect(at('--output', 'json', 'sea')).to.deep.equal(['seat']);
  });

  it('understands the three words that bash makes of --option=value', () => {
    expect(at('--output', '=', 'j')).to.deep.equal(['json']);
    expect(at('--output', '=')).to.deep.equal(['table', 'json']);
    expect(at('--output', '=', 'json', 'key', '')).to.deep.equal(['issue', 'help']);
  });

  it('offers nothing where anything may stand', () => {
    expect(at('key', 'issue', '--out', '')).to.deep.equal([]);
    expect(at('no', 'such', 'command', '--x', 'y')).to.deep.equal([]);
  });

  it('works in bash', async function () {
    if (!(await exists('bash'))) return this.skip();
    const typed = `source <(${HUBCTL} completion bash)
      complete -p hubctl
      COMP_WORDS=(hubctl license list --state = re) COMP_CWORD=5
      _hubctl hubctl re =
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = { ...process.env, PATH: MACHINE_PATH };
    const { stdout, stderr } = await ended(spawn('bash', ['--norc', '-c', typed], { env }));
    expect(stdout + stderr).to.equal('complete -o default -F _hubctl hubctl\nrevoked\n');
  });

  it('works in zsh', async function () {
    if (!(await exists('zsh'))) return this.skip();
    // What the line editor would do: it keeps compadd to itself.
    const typed = `autoload -U compinit && compinit -u -D
      source <(${HUBCTL} completion zsh)
      compadd() { shift; print -l -- "$@" }
      words=(hubctl license re) CURRENT=3
      _hubctl`;
    const env = { ...process.env, PATH: MACHINE_PATH };
    const { stdout, stderr } = await ended(spawn('zsh', ['-f', '-c', typed], { env }));
    expect(stdout + stderr).to.equal('revoke\nreinstate\n');
  });

  it('is refused for a shell it does not know', async () => {
    const { code, stderr } = await hubctl(['completion', 'fish']);
    expect(code).to.equal(2);
    expect(stderr).to.contain('Allowed choices are bash, zsh');
  });
});

/** Whether the machine has the program. */
async function exists(name: string): Promise<boolean> {
  const child = spawn(name, ['--version'], { stdio: 'ignore' });
  return Promise.race([once(child, 'exit').then(() => true), once(child, 'error').then(() => false)]).catch(
    () => false,
  );
}
