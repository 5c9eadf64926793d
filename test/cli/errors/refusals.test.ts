// Usage errors of hubctl: the wrong word, the expected one, and exit code 2.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { hubctlHere } from '../run-here.ts';

const CHARGE = '--slot main --amount 1 --currency BDT';
const SESSION_ID = 'chs_01k8e7qk3vf2tb5s0w9m4x6ydz';

describe('hubctl with invalid input', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  /** Words are separated by spaces; an underscore stands for an empty one. */
  const complaint = async (line: string): Promise<string> => {
    const words = line.split(' ').map((word) => (word === '_' ? '' : word));
    const { code, stdout, stderr } = await hubctlHere(words, {
      HUBCTL_SERVER: hub.rpcUrl,
      HUBCTL_TOKEN: hub.token,
    });
    expect(stdout, line).to.equal('');
    return `${code} ${stderr.replace(/^hubctl: /, '').trim()}`;
  };
  const cases = async (expected: Record<string, string | RegExp>) => {
    for (const [line, said] of Object.entries(expected)) {
      const actual = await complaint(line);
      if (typeof said === 'string') expect(actual, line).to.equal(said);
      else expect(actual, line).to.match(said);
    }
  };

  it('names the wrong option, and exits with 2 because nothing was done', async () => {
    const [whole, half] = [join(hub.dataDir, 'whole.json'), join(hub.dataDir, 'half.json')];
    await writeFile(whole, '{"storeId":"store","storePassword":"password"}', { mode: 0o600 });
    await writeFile(half, '{"storeId":"store"}', { mode: 0o600 });
    const add = 'slot add a --gateway gateway_one --environment sandbox --base-url';
    await cases({
      [`${add} nope --credentials-file ${whole}`]: /^2 --base-url: write an absolute address/,
      [`${add} http://a --credentials-file ${half}`]: /^2 --credentials-file: storePassword is missing/,
      [`${add.replace(' a ', ' Bad ')} http://a --credentials-file ${whole}`]: /^2 name: must be 1 to 63/,
      'fee add Bad --percent 1': /^2 name: a name is /,
      'fee add a --percent 1 --from 2020-01-01': /^2 --from: a rule cannot begin in the past/,
      'session create --slot main --amount 0 --currency BDT': /^2 --amount: the amount must not be zero/,
      'session create --slot main --amount 1 --currency ZZZ': /^2 --currency: "ZZZ" is not an ISO 4217/,
      [`session create ${CHARGE} --order ${'x'.repeat(129)}`]: /^2 --order: /,
      [`session create ${CHARGE} --customer-email nope`]: /^2 --customer-email: must be an email address/,
      [`session create ${CHARGE} --customer-phone nope`]: /^2 --customer-phone: must be a phone number/,
    });
  });

  it('explains what is wrong with an amount, a currency and a percentage', async () => {
    const charge = 'session create --slot main';
    await cases({
      [`${charge} --currency BDT --amount 99999999999999999999`]:
        '2 --amount: The amount is too large: the maximum is 90071992547409.91.',
      [`${charge} --currency BDT --amount 00012`]: '2 --amount: Omit leading zeros.',
      [`${charge} --currency bdt --amount 1`]: '2 --currency: Write BDT.',
      'fee add a --percent 1000': /^2 .*--percent.* Give a percentage from 0 to 100\./,
      [`${charge} --currency BDT --amount 1 --order _`]: /^2 .*--order.* Give a text, or omit the option\./,
    });
  });

  it('repeats an unknown name, and recognizes an id of another kind', async () => {
    await cases({
      'slot show nope': '1 nope: there is no slot with this name: see `hubctl slot list`',
      'session create --slot nope --amount 1 --currency BDT':
        '1 --slot nope: there is no slot with this name: see `hubctl slot list`',
      [`session inspect ${SESSION_ID}`]: `1 ${SESSION_ID}: there is no charge session with this id`,
      [`session inspect ${SESSION_ID.toUpperCase()}`]: `1 ${SESSION_ID.toUpperCase()}: the id is spelled ${SESSION_ID}: try that`,
      [`callback show ${SESSION_ID}`]: `1 ${SESSION_ID}: this is the id of a charge session: see \`hubctl session inspect\``,
      'callback list --gateway nope':
        '1 --gateway nope: unknown gateway; the gateways are gateway_one, gateway_two, stripe',
    });
  });

  it('says what a secret is that is given instead of an id, and does not repeat it', async () => {
    const wrong =
      '1 licenseId: this is a license key: give the id that `hubctl license list --hint 1XPN6` shows';
    await cases({
      'license show MXRR3-RRQ14-MJJ7W-M3ZP1-1XPN6': wrong,
      'license update mxrr3rrq14mjj7wm3zp11xpn6 --seats 2': wrong,
      'token revoke hub_01m8955etvecstwsdy2gb3d208_b4PcgpNhp --yes':
        '1 tokenId: this is a token: give the id that `hubctl token list` shows',
      'endpoint show whsec_b4PcgpNhp':
        '1 endpointId: this is a secret: give the id that `hubctl endpoint list` shows',
    });
  });

  it('lists all missing options, and refers to the help', async () => {
    await cases({
      'slot add a':
        '2 --gateway <gateway>, --environment <where>: these options are required. See `hubctl slot add --help`.',
      'slot show': "2 missing required argument 'slot'. See `hubctl slot show --help`.",
      'slot shwo': /^2 unknown command 'shwo' .*See `hubctl slot --help`\.$/,
    });
  });

  it('suggests the intended word and lists the valid ones', async () => {
    await cases({
      version: "2 unknown command 'version' (Did you mean --version?). See `hubctl --help`.",
      'help licens': "2 unknown command 'licens' (Did you mean license?). See `hubctl --help`.",
      'help license shw': "2 unknown command 'shw' (Did you mean show?). See `hubctl license --help`.",
      'help nonsense': "2 unknown command 'nonsense'. See `hubctl --help`.",
      revoke:
        "2 unknown command 'revoke' (Did you mean license revoke or token revoke?). See `hubctl --help`.",
      'key list':
        "2 unknown command 'list': hubctl key has issue, import, list-secrets, rotate-secret. See `hubctl key --help`.",
      'key revoke':
        "2 unknown command 'revoke' (Did you mean license revoke or token revoke?). See `hubctl key --help`.",
      list: "2 unknown command 'list'. See `hubctl --help`.",
      'completion tcsh': '2 shell: tcsh is not one of bash, zsh, fish. See `hubctl completion --help`.',
      'app list -o jsn': /^2 --output: jsn is not one of table, json\./,
      'token create --role admn': /^2 --role: admn is not one of admin, /,
    });
  });

  it('refuses empty values, as unset variables of a script produce them', async () => {
    await cases({
      'license show _': /^2 licenseId: this is empty/,
      'app list --server _': /^2 --server: this is empty/,
      'app list --data-dir _': /^2 --data-dir: this is empty/,
      'license list --state _': /^2 --state: an empty text is not one of active, /,
    });
  });

  it('refuses a period that ends before it begins', async () => {
    await cases({
      'session list --from 2026-03-01 --to 2026-02-01': '2 --to: Give a time after --from.',
      'usage list --from 2026-03-01 --to 2026-02-01': '2 --to: Give a time after --from.',
      'audit list --from 2026-03-01 --to 2026-02-01': '2 --to: Give a time after --from.',
    });
  });

  it('marks required options in its help, and lists global options in one place only', async () => {
    const { stdout } = await hubctlHere(['slot', 'add', '--help']);
    expect(stdout).to.match(/--gateway <gateway> +required: gateway, such as/);
    expect(stdout).to.match(/^Usage: hubctl slot add --gateway <gateway> --environment <where> /);
    expect(stdout).to.match(/--base-url <url> +address/);
    expect(stdout).not.to.contain('--client-cert');
    expect(stdout).to.match(/hubctl --help\n$/);
    expect((await hubctlHere(['--help'])).stdout).to.contain('--client-cert');
  });
});
