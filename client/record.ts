// The record that a client keeps between runs: what is in it, and its form as text.
import { encodeBase64url } from './base64url.ts';
import type { Doubt } from './doubt.ts';
import { LicenseError } from './errors.ts';
import type { Held } from './held.ts';
import { parseInstant } from './instant.ts';
import { type PublicPoint, pointOfJwk, sha256 } from './public-key.ts';
import { type EndCode, isEndCode } from './reasons.ts';
import { isJsonObject, type JsonObject, parseJsonObject } from './strict-json.ts';

/**
 * Nothing in it is believed when it is read back: the license is verified, the key compared with what is built in, and
 * of an ended license there is nothing left to verify. Times are RFC 3339 UTC with milliseconds.
 */
export type LicenseRecord = {
  /** The signed license, or in its place how it ended. */
  readonly license?: JsonObject;
  readonly end?: { readonly code: EndCode; readonly licenseId: string };
  /** The key that verifies it, for those who have pinned its thumbprint only. */
  readonly key?: PublicPoint;
  readonly licenseKey?: string;
  /** In its place, if the license key shall not be kept. */
  readonly licenseKeyHash?: string;
  readonly doubt?: Doubt;
  /** License keys of seats that this machine has left for this license, and not released yet. */
  readonly toRelease?: readonly string[];
  /** The latest time that is known: of the hub, or of the machine's clock when the license was used last. */
  readonly seenAt: string;
  /** When the hub was heard last. */
  readonly checkedAt: string;
  /** When it wants to be asked again, from then on. */
  readonly recheckAfterSeconds: number;
};

export function recordIn(held: Held): LicenseRecord | undefined {
  return held.kind === 'nothing' ? undefined : held.record;
}

/** The version of this form. A text that begins otherwise is of another one, or no record at all. */
const FORM = 'hubctl-license-1';
const TEXT = new RegExp(`^${FORM} ([A-Za-z0-9_-]{43})\\n(.*)\\n$`, 's');

/** The checksum keeps damage, and a hasty hand, from being taken for a record. It is no secret. */
export async function writeRecord(record: LicenseRecord): Promise<string> {
  const text = JSON.stringify(record);
  return `${FORM} ${await checksumOf(text)}\n${text}\n`;
}

/** Rejects with LicenseError `record_unreadable`. */
export async function readRecord(text: string): Promise<LicenseRecord> {
  const [, checksum, body = ''] = TEXT.exec(text) ?? [];
  if (checksum === undefined) throw unreadable('it is damaged, or of another version');
  if ((await checksumOf(body)) !== checksum) throw unreadable('it was changed by somebody else');
  const record = parseJsonObject(body);
  if (record === undefined || !isRecord(record)) throw unreadable('its members are not those of a record');
  return record;
}

async function checksumOf(text: string): Promise<string> {
  return encodeBase64url(new Uint8Array(await sha256(`${FORM}\n${text}`)));
}

function isRecord(value: JsonObject): value is JsonObject & LicenseRecord {
  const { license, end, key, licenseKey, licenseKeyHash, doubt, toRelease } = value;
  const { seenAt, checkedAt, recheckAfterSeconds } = value;
  return (
    (license === undefined ? isEnd(end) : isJsonObject(license) && end === undefined) &&
    (key === undefined || (isJsonObject(key) && pointOfJwk(key) !== undefined)) &&
    [licenseKey, licenseKeyHash].every((text) => text === undefined || typeof text === 'string') &&
    (doubt === undefined || isDoubt(doubt)) &&
    (toRelease === undefined || isTexts(toRelease)) &&
    parseInstant(seenAt) !== undefined &&
    parseInstant(checkedAt) !== undefined &&
    typeof recheckAfterSeconds === 'number'
  );
}

function isEnd(value: unknown): boolean {
  return isJsonObject(value) && isEndCode(value['code']) && typeof value['licenseId'] === 'string';
}

function isDoubt(value: unknown): boolean {
  if (!isJsonObject(value) || !isEndCode(value['code'])) return false;
  return parseInstant(value['since']) !== undefined && Number.isInteger(value['answers']);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function unreadable(what: string): LicenseError {
  return new LicenseError('record_unreadable', `the stored record cannot be read: ${what}`);
}
