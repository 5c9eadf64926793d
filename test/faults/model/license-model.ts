// What a hub must do with one license: a model of its terms, seats and keys, without a database.

/** The error code of a refused operation, or `ok`. */
export type Outcome = string;

export class LicenseModel {
  readonly #seats = new Set<string>();
  readonly #seenMachines = new Set<string>();
  readonly #erased = new Set<string>();
  #seatLimit: number;
  #customer: string | undefined;
  #isSuspended = false;
  #termsVersion = 1;
  #generation = 1;

  constructor(seatLimit: number) {
    this.#seatLimit = seatLimit;
  }

  get seats(): number {
    return this.#seats.size;
  }

  get termsVersion(): number {
    return this.#termsVersion;
  }

  get generation(): number {
    return this.#generation;
  }

  get seatsOverLimit(): number {
    return Math.max(0, this.#seats.size - this.#seatLimit);
  }

  activate(machine: string, generation: number): Outcome {
    if (generation !== this.#generation) return 'license_key_unknown';
    if (this.#isSuspended) return 'license_suspended';
    if (this.#seats.has(machine)) return 'ok';
    if (this.#seats.size >= this.#seatLimit) return 'seat_limit_reached';
    this.#seats.add(machine);
    this.#seenMachines.add(machine);
    return 'ok';
  }

  deactivate(machine: string): Outcome {
    if (this.#seats.delete(machine)) return 'released';
    return this.#seenMachines.has(machine) ? 'released before' : 'seat_unknown';
  }

  update(seatLimit: number): void {
    if (seatLimit !== this.#seatLimit) this.#termsVersion += 1;
    this.#seatLimit = seatLimit;
  }

  renew(): void {
    this.#termsVersion += 1;
  }

  suspend(isSuspended: boolean): void {
    this.#isSuspended = isSuspended;
  }

  rekey(): void {
    this.#generation += 1;
  }

  transfer(customer: string): Outcome {
    if (this.#erased.has(customer)) return 'customer_erased';
    if (customer !== this.#customer) this.#termsVersion += 1;
    this.#customer = customer;
    return 'ok';
  }

  erase(customer: string): void {
    this.#erased.add(customer);
  }
}
