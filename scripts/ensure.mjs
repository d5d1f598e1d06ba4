// @ts-check
// Makes a fresh clone ready: dependencies installed, dist built. Does nothing when both are current.
import { installIfNeeded } from "./install.mjs";

await installIfNeeded();
// Loaded after the install, since the build runs an installed compiler.
const { buildIfStale } = await import("./build.mjs");
const { errors } = await buildIfStale();
if (errors !== "") {
  process.stderr.write(`src does not compile:\n${errors}`);
  process.exitCode = 1;
}
