// Checks the settings of a slot against its gateway's driver.
import { HubError } from '../../errors.ts';
import type { Environment } from '../entities.ts';
import type { PaymentDriver } from '../providers/driver.ts';
import { isLoopback } from '../sessions/callback-url.ts';
import { withDefaults } from './provider-connections.ts';

type Texts = Readonly<Record<string, string>>;

// Redacting shorter ones from provider messages would garble them, and they are no secrets.
const SHORTEST = 4;

/**
 * Requires exactly the driver's credentials. Errors contain names, never values.
 * @throws HubError `credentials_invalid`
 */
export function checkCredentials(driver: PaymentDriver, credentials: Texts): Texts {
  const given = Object.keys(credentials);
  const problems = [
    ...driver.credentials.filter((name) => !given.includes(name)).map((name) => `${name} is missing`),
    ...given.filter((name) => !driver.credentials.includes(name)).map((name) => `${name} is unknown`),
    ...driver.credentials
      .filter((name) => (credentials[name]?.length ?? SHORTEST) < SHORTEST)
      .map((name) => `${name} has fewer than ${SHORTEST} characters`),
    // They are sent in headers and forms; a line break usually comes from the end of a file.
    ...driver.credentials
      .filter((name) => /\p{Cc}/u.test(credentials[name] ?? ''))
      .map((name) => `${name} contains a line break or another control character`),
  ];
  if (problems.length === 0) return credentials;
  const wanted = driver.credentials.join(', ');
  throw new HubError(
    'credentials_invalid',
    `${problems.join('; ')}. ${driver.gateway} needs exactly ${wanted}`,
    { field: 'credentials' },
  );
}

/**
 * Returns the base URL without a trailing slash. In production it has to be one of the provider's URLs, by
 * default the first; in a sandbox any HTTP URL. Errors do not repeat the URL, which may contain a password.
 *
 * @throws HubError `base_url_invalid`
 */
export function checkBaseUrl(driver: PaymentDriver, environment: Environment, baseUrl: string): string {
  if (environment === 'production') return productionUrl(driver, baseUrl);
  if (baseUrl === '')
    throw baseUrlInvalid('a sandbox slot needs the address of the sandbox or the simulator');
  return plainUrl(baseUrl);
}

/** The driver's options with their defaults filled in. @throws HubError `slot_option_invalid` */
export function checkOptions(driver: PaymentDriver, options: Texts): Record<string, string> {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(driver.options, name));
  if (unknown !== undefined) {
    const known = Object.keys(driver.options).join(', ') || 'none';
    throw optionInvalid(`${driver.gateway} has no option ${JSON.stringify(unknown)}; its options: ${known}`);
  }
  for (const [name, values] of Object.entries(driver.options)) {
    const value = options[name];
    if (value !== undefined && !values.includes(value)) {
      throw optionInvalid(`the option ${name} has to be one of ${values.join(', ')}`);
    }
  }
  return withDefaults(driver, options);
}

/**
 * Returns the origins of shops, each once, as browsers send them. Errors do not repeat what was written,
 * which may contain a password.
 *
 * @throws HubError `return_origin_invalid`
 */
export function checkReturnOrigins(origins: readonly string[]): string[] {
  for (const text of origins) {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw returnOriginInvalid(
        'write an origin that begins with https://, such as https://shop.example.com',
      );
    }
    if (url.origin !== text) {
      throw returnOriginInvalid(
        `write only scheme, host and port, without a slash at the end: ${url.origin}`,
      );
    }
    if (url.protocol === 'http:' && !isLoopback(text)) {
      const message = 'use https: http is allowed for this machine only, such as http://localhost:3000';
      throw returnOriginInvalid(`${url.origin}: ${message}`);
    }
  }
  return [...new Set(origins)];
}

function productionUrl(driver: PaymentDriver, baseUrl: string): string {
  const own = driver.productionUrls.map(plainUrl);
  const url = baseUrl === '' ? own[0] : plainUrl(baseUrl);
  if (url?.startsWith('https://') && own.includes(url)) return url;
  const choice = own.length > 0 ? `leave it out or take one of ${own.join(', ')}` : 'it has no options';
  throw baseUrlInvalid(`production slots use only the provider's own addresses, over TLS: ${choice}`);
}

function plainUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw baseUrlInvalid('write an absolute address that begins with https:// or http://');
  }
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text)) {
    throw baseUrlInvalid('the address must not contain a user name, password, query or fragment');
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function baseUrlInvalid(message: string): HubError {
  return new HubError('base_url_invalid', message, { field: 'baseUrl' });
}

function optionInvalid(message: string): HubError {
  return new HubError('slot_option_invalid', message, { field: 'options' });
}

function returnOriginInvalid(message: string): HubError {
  return new HubError('return_origin_invalid', message, { field: 'returnOrigins' });
}
