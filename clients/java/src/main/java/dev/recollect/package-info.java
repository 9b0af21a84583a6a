/**
 * The client of Recollect, the memory service for LLM agents and chat backends.
 *
 * <p>Start with {@link dev.recollect.Recollect}. The package {@code dev.recollect.v1} has the
 * generated messages and services of the whole contract.
 */
package dev.recollect;
