// Writes src/gen/v1.ts, which exports all generated files.
import { readdirSync, writeFileSync } from "node:fs";

const directory = new URL("../src/gen/", import.meta.url);
const lines = ["recollect/v1/", "google/rpc/"].flatMap((folder) =>
  readdirSync(new URL(folder, directory))
    .sort()
    .map((file) => `export * from "./${folder}${file.replace(/\.ts$/, ".js")}";\n`),
);
writeFileSync(new URL("v1.ts", directory), lines.join(""));
