// Keeps a slot's secrets out of everything a driver says, even if the provider repeats them.
import {
  type PaymentDriver,
  type ProviderAccess,
  ProviderRefused,
  ProviderUnavailable,
  type TokenCache,
} from '../provider.ts';

/** The driver, with credentials and access tokens struck out of its errors, verdicts and steps. */
export function discreet(driver: PaymentDriver): PaymentDriver {
  return {
    ...driver,
    createCheckout: (access, checkout) => discreetly(access, (own) => driver.createCheckout(own, checkout)),
    verify: (access, question) =>
      discreetly(access, async (own, tell) => {
        const verdict = await driver.verify(own, question);
        const detail = tell(verdict.detail);
        if (verdict.kind !== 'paid' || verdict.risk === undefined) return { ...verdict, detail };
        const { level, title } = verdict.risk;
        return { ...verdict, detail, risk: { level, title: tell(title) } };
      }),
    findPayments: (access, question) =>
      discreetly(access, async (own, tell) => {
        const { payments, unanswered } = await driver.findPayments(own, question);
        return { payments, unanswered: new Map([...unanswered].map(([id, reason]) => [id, tell(reason)])) };
      }),
    testCredentials: (access) =>
      discreetly(access, async (own, tell) => ({ detail: tell((await driver.testCredentials(own)).detail) })),
  };
}

const LONGEST = 300;

async function discreetly<T>(
  access: ProviderAccess,
  work: (access: ProviderAccess, tell: (text: string) => string) => Promise<T>,
): Promise<T> {
  const secrets = new Set(Object.values(access.credentials.reveal()).flatMap(spellings));
  const learn = (token: string): string => {
    for (const spelling of spellings(token)) secrets.add(spelling);
    return token;
  };
  const tokens: TokenCache = {
    async get(grant, rejected) {
      const learningGrant = async () => {
        const granted = await grant();
        learn(granted.token);
        return granted;
      };
      return learn(await access.tokens.get(learningGrant, rejected));
    },
  };
  const tell = (text: string): string => {
    // The longest first: one secret may be part of another. Cut last: half a secret would not be recognized.
    const struck = [...secrets]
      .sort((one, other) => other.length - one.length)
      .reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
    // Half of a surrogate pair that the cut leaves is no text that can be stored.
    return struck
      .replace(/\p{C}+/gu, ' ')
      .slice(0, LONGEST)
      .toWellFormed();
  };
  try {
    const observe: ProviderAccess['observe'] = (step) =>
      access.observe({ ...step, detail: tell(step.detail) });
    return await work({ ...access, tokens, observe }, tell);
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw new ProviderUnavailable(tell(error.message));
    if (error instanceof ProviderRefused) throw new ProviderRefused(tell(error.message));
    throw error;
  }
}

/** As it is, in a URL, in a form, in JSON. */
function spellings(secret: string): string[] {
  if (secret === '') return [];
  const form = new URLSearchParams({ '': secret }).toString().slice(1);
  return [secret, encodeURIComponent(secret), form, JSON.stringify(secret).slice(1, -1)];
}
