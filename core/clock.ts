// The hub's only source of the current time; tests replace it.

export type Clock = () => Date;

export const systemClock: Clock = () => new Date();
