/**
 * The path of the program `recollect` for this platform.
 *
 * @throws Error if the package of this platform is not installed.
 */
export function program(): string;
