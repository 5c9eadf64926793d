// The peer's refusals: a status and a code.
export class Refusal extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, code: string) {
    super(code);
    this.statusCode = statusCode;
  }
}
