// Writes src/gen/v1.ts, which exports all generated files of the contract.
import { readdirSync, writeFileSync } from "node:fs";

const directory = new URL("../src/gen/", import.meta.url);
const files = readdirSync(new URL("recollect/v1/", directory)).sort();
const lines = files.map((file) => `export * from "./recollect/v1/${file.replace(/\.ts$/, ".js")}";\n`);
writeFileSync(new URL("v1.ts", directory), lines.join(""));
