// Parsing of database addresses: their parts, their errors, and their printable form.
import { expect } from 'chai';
import {
  describeTarget,
  parseConnectionString,
} from '../../../../core/storage/connection/connection-string.ts';

const parse = (text: string) => parseConnectionString(text, {});
const refusal = (text: string): string => {
  try {
    parse(text);
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was refused';
};

describe('the address of a database', () => {
  it('parses hosts, ports and escapes like libpq', () => {
    const servers = (text: string) => parse(text).servers.map(({ host, port }) => `${host} ${port}`);
    const examples: Record<string, readonly string[]> = {
      'postgres://h/d': ['h 5432'],
      'postgresql://h1:1,h2/d': ['h1 1', 'h2 5432'],
      'postgresql://h1,h2/d?port=7': ['h1 7', 'h2 7'],
      'postgresql://[::1]:7,[2001:db8::1]/d': ['::1 7', '2001:db8::1 5432'],
      'postgresql://%2Frun%2Fpostgresql:7/d': ['/run/postgresql 7'],
      'postgresql:///d?host=/run/postgresql': ['/run/postgresql 5432'],
      'postgresql://h/d?host=other&port=8': ['other 8'],
      'postgresql:///d?hostaddr=127.0.0.1': ['127.0.0.1 5432'],
    };
    for (const [text, expected] of Object.entries(examples))
      expect(servers(text), text).to.deep.equal(expected);
    expect(parse('postgres://a%40b:p%3Aw%2F%C3%BC#?@h/d%20e')).to.include({
      user: 'a@b',
      password: 'p:w/ü#?',
      database: 'd e',
    });
    expect(parse('postgres://h/d?user=u&password=p&dbname=other')).to.include({
      user: 'u',
      password: 'p',
      database: 'other',
    });
  });

  it('gets a timeout, even where libpq waits forever', () => {
    const timeout = (seconds: string) => parse(`postgres://h/d?connect_timeout=${seconds}`).connectTimeoutMs;
    expect(parse('postgres://h/d').connectTimeoutMs).to.equal(5_000);
    expect(['0', '-1', '1', '2', '10'].map(timeout)).to.deep.equal([5_000, 5_000, 2_000, 2_000, 10_000]);
  });

  it('is refused with the name of the wrong parameter and a remedy', () => {
    const messages: Record<string, RegExp> = {
      'sslmode=no-verify': /^sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full$/,
      'target_session_attrs=master': /^target_session_attrs must be one of any, read-write, /,
      'connect_timeout=soon': /^connect_timeout must be a whole number$/,
      'uselibpqcompat=true': /^the parameter uselibpqcompat is not one of libpq's: remove it: /,
      'sslmod=require': /^the parameter sslmod is not one of libpq's: correct or remove it$/,
      'require_auth=scram-sha-256': /^the parameter require_auth is not supported: remove it$/,
      'client_encoding=LATIN1': /^client_encoding must be UTF8: the hub uses no other encoding$/,
      'ssl=no': /^the parameter ssl is not one of libpq's: must be true; sslmode sets the details$/,
      sslmode: /^has a parameter that is not of the form name=value/,
      'sslmode=a=b': /^has a parameter that is not of the form name=value/,
      'port=1,2': /^there are 2 ports for 1 hosts: give one for all, or one for each$/,
      'hostaddr=127.0.0.1,127.0.0.2': /^hostaddr has 2 addresses for 1 hosts/,
      'sslnegotiation=direct': /^sslmode=prefer is too weak for sslnegotiation=direct/,
    };
    for (const [parameter, message] of Object.entries(messages))
      expect(refusal(`postgres://h/d?${parameter}`)).to.match(message);
    expect(refusal('mysql://h/d')).to.equal(
      'must be an address that starts with postgres:// or postgresql://',
    );
    for (const sign of ['&', ';'])
      expect(refusal(`postgres://h/d${sign}password=secret`)).to.match(
        /^has parameters without a \? before them/,
      );
    for (const unnamed of ['postgres://h', 'postgres://h/', 'postgres://'])
      expect(refusal(unnamed)).to.match(/^must name a database/);
  });

  it('never shows a password, not even an unencoded one', () => {
    for (const text of [
      'postgres://hub:hunter2/xyzzy@h/d',
      'postgres://hub:hunter2@xyzzy@h/d',
      'postgres://hub:5432/hunter2@h/d',
      'postgres://hub:hunter2%xyzzy@h/d',
      'postgres://hub@h/d?hunter2=xyzzy',
      'postgres://hub@h/d?password=hunter2=xyzzy',
      'postgres://hub@h/d?password=hunter2&xyzzy',
      'postgres://[hunter2/xyzzy',
    ]) {
      // The name of a parameter may be shown.
      if (!text.includes('?hunter2')) expect(refusal(text), text).not.to.match(/hunter2|xyzzy/);
      expect(refusal(text), text).not.to.equal('nothing was refused');
    }
  });

  it('is described without password and parameters', () => {
    const description = (text: string) => describeTarget(parse(text));
    const examples: Record<string, string> = {
      'postgres://hub:hunter2@h:1/d?application_name=hunter2': 'postgres://hub@h:1/d',
      'postgresql://hub:hunter2@h1,h2:7/d?sslpassword=hunter2': 'postgres://hub@h1,h2:7/d',
      'postgresql://hub:hunter2@[::1]:7/d': 'postgres://hub@[::1]:7/d',
      'postgresql:///d?host=/run/postgresql&user=hub&password=hunter2':
        'postgres://hub@%2Frun%2Fpostgresql/d',
    };
    for (const [text, expected] of Object.entries(examples))
      expect(description(text), text).to.equal(expected);
  });
});
