/**
 * What adapters of frameworks are made of: messages that fit the limits of the contract and
 * come back as they were given.
 *
 * @packageDocumentation
 */
export { exact, keepExact } from "./adapters/exact.js";
export { answeredCalls, MessageParts, parsed, type File, type NewPart, type NewResultPart } from "./adapters/parts.js";
