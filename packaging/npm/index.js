import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** The path of the program `recollect` for this platform. */
export function program() {
  const name = `@recollect/server-${process.platform}-${process.arch}`;
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), "bin", "recollect");
  } catch {
    throw new Error(
      `${name} is not installed. Recollect has packages for linux-x64, linux-arm64 and ` +
        "darwin-arm64; install @recollect/server without --omit=optional.",
    );
  }
}
