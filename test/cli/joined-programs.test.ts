import { spawn } from "node:child_process";
import { cpSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ended, Workplace } from "./upheld.ts";

const project = join(import.meta.dirname, "../..");
const SHARED = join(project, "dist/program");

/** The packages whose modules are in the programs: each module is introduced by its path. */
function joinedPackages(): readonly string[] {
  const names = readdirSync(SHARED)
    .filter((file) => file.endsWith(".js"))
    .flatMap((file) => [
      ...readFileSync(join(SHARED, file), "utf8").matchAll(
        /^\/\/#? ?\S*node_modules\/((?:@[^/\s]+\/)?[^/\s]+)\//gm,
      ),
    ])
    .map(([, name = ""]) => name);
  return [...new Set(names)].toSorted();
}

describe("the programs", () => {
  test("run where no other package is installed", async () => {
    using place = new Workplace({ "a.txt": "before\n" });
    const installed = join(place.path, "installed");
    cpSync(join(project, "dist"), join(installed, "dist"), { recursive: true });
    cpSync(join(project, "package.json"), join(installed, "package.json"));
    const claims = place.write(
      "claims.yaml",
      "subGoals:\n  - name: wrote\n    condition: { kind: content_written, uri: workspace:/b.txt, matcher: { kind: regex, pattern: 'a+b' } }\n",
    );
    const agent = [process.execPath, "-e", "require('node:fs').writeFileSync('b.txt', 'aaab')"];
    const { code, stdout, stderr } = await ended(
      spawn(
        process.execPath,
        [join(installed, "dist/cli/main.js"), "run", "--json", "--expect", claims, "--", ...agent],
        { cwd: place.root, env: place.environment, stdio: ["ignore", "pipe", "pipe"] },
      ),
    );
    expect(stderr).not.toContain("Error");
    expect({
      code,
      delta: JSON.parse(stdout).delta.map(({ uri }: { uri: string }) => uri),
    }).toEqual({ code: 0, delta: ["workspace:/b.txt"] });
  });

  test("bring the licence of each package whose code is in them", () => {
    const licences = readFileSync(join(SHARED, "licenses.txt"), "utf8");
    const packages = joinedPackages();
    expect(packages).toContain("zod");
    for (const name of packages) {
      const { version } = JSON.parse(
        readFileSync(join(project, "node_modules", name, "package.json"), "utf8"),
      );
      expect(licences).toContain(`${name} ${version} (`);
    }
  });
});
