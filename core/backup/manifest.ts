// What a backup says of itself: which hub made it, when, and what of the schema it is for.

export type Manifest = {
  /** Of this file and the ones beside it; another number is another form. */
  readonly format: 1;
  /** Version of the hub that made it. */
  readonly hubVersion: string;
  /** RFC 3339, UTC: the moment whose state the backup holds. */
  readonly createdAt: string;
  /** The server it was taken from, such as `18.4`. */
  readonly postgresVersion: string;
  /** Names of the migrations that its data has been through, in order. */
  readonly migrations: readonly string[];
  /** Version of the job queue's own schema; undefined if there was none yet. */
  readonly jobSchemaVersion?: number;
  /** Ids of the master keys in the key ring. */
  readonly masterKeyIds: readonly string[];
};

/** @throws Error if it is none, or one of a later form. */
export function readManifest(text: string): Manifest {
  const manifest: Manifest = JSON.parse(text); // the file is authenticated: hubctl wrote it
  if (manifest.format !== 1) {
    throw new Error(
      `the backup has form ${manifest.format}, and this hubctl reads form 1: take a later version of it`,
    );
  }
  return manifest;
}
