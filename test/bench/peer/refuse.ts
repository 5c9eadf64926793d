// A refusal of the peer: a status and a code.
export class Refusal extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, code: string) {
    super(code);
    this.statusCode = statusCode;
  }
}
