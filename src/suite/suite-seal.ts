import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { fingerprint } from "../core/fingerprint.ts";
import type { Digest } from "../core/ids.ts";
import type { Timestamp } from "../core/timestamp.ts";
import type { Bundle } from "../evidence/bundle.ts";
import { BUNDLE_LIMITS } from "../evidence/limits.ts";
import { withRedactions } from "../evidence/part-redactions.ts";
import { sealInputOf } from "../evidence/record/evidence-file.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import type { Redactor } from "../evidence/redactor.ts";
import type { RunSecret } from "../evidence/salt.ts";
import { sealSuite, type ScenarioInput } from "../evidence/seal-suite.ts";
import { sealBundle } from "../evidence/seal.ts";
import type { Signer } from "../evidence/signer.ts";
import type { EvidenceRun, EvidenceSealer } from "../evidence/statement.ts";
import type { SealedBundle } from "../report/run-report.ts";
import type { ScenarioReport } from "../report/suite-report.ts";
import { writeBundle } from "../store/bundle-file.ts";
import { nodeHasher } from "../store/hasher.ts";
import type { Suite } from "./scenario.ts";

/** Which attempt at which scenario. */
export interface NamedAttempt {
  readonly scenarioKey: string;
  readonly scenarioAttempt: number;
}

/** Seals the evidence of one run of a scenario; undefined where no more is kept. */
export type SealRun = (
  named: NamedAttempt,
  record: RunRecord,
  hiding: { readonly secret: RunSecret; readonly redactor: Redactor },
) => Promise<SealedBundle | undefined>;

/** Which run of the suite it is, and who seals. */
export interface SuiteSealing {
  readonly suite: Suite;
  readonly jobId: string;
  readonly startedAt: Timestamp;
  readonly producer: EvidenceRun["producer"];
  readonly signer?: Signer | undefined;
  readonly sealer?: EvidenceSealer["by"] | undefined;
}

/** Bytes of evidence that are held in memory until the suite has ended; beyond it a scenario is sealed as absent. */
const MAX_HELD_BYTES = 512 * 1024 ** 2;

/** Keeps the evidence of a suite's scenarios, and writes it as one bundle when all have ended. */
export class SuiteSeal {
  readonly #sealing: SuiteSealing;
  readonly #suiteDigest: Digest;
  readonly #bundles = new Map<string, Bundle>();
  #files = 0;
  #bytes = 0;

  constructor(sealing: SuiteSealing) {
    this.#sealing = sealing;
    this.#suiteDigest = digestOfSuite(sealing.suite.folder);
  }

  /** Seals one run. A later attempt at the scenario takes the place of an earlier one. */
  readonly sealRun: SealRun = async (named, record, { secret, redactor }) => {
    const { producer, signer, sealer, jobId } = this.#sealing;
    const input = sealInputOf(record, producer, secret);
    const bundle = await sealBundle(
      {
        ...input,
        run: { ...input.run, jobId, ...named, suiteDigest: this.#suiteDigest },
        parts: withRedactions(input.parts, redactor.made),
        ...(sealer === undefined ? {} : { sealer }),
      },
      { hasher: nodeHasher, secret, ...signed(signer) },
    );
    const sizeBytes = sizeOf(bundle);
    const holds =
      this.#files + bundle.files.length <= BUNDLE_LIMITS.maxFiles / 2 &&
      this.#bytes + sizeBytes <= MAX_HELD_BYTES;
    if (!holds) return undefined;
    this.#files += bundle.files.length;
    this.#bytes += sizeBytes;
    this.#bundles.set(named.scenarioKey, bundle);
    return {
      digest: bundle.digest,
      parts: bundle.statement.predicate.parts.length,
      sizeBytes,
      secretsRemoved: redactor.made.size,
    };
  };

  /** Writes all of it under a name, whole or not at all, with every scenario counted. Throws "file_unwritable". */
  async write(
    path: string,
    scenarios: readonly ScenarioReport[],
    { endedAt, signal }: { readonly endedAt: Timestamp; readonly signal: AbortSignal | undefined },
  ): Promise<SealedBundle> {
    const { suite, jobId, startedAt, producer, signer, sealer } = this.#sealing;
    const bundle = await sealSuite(
      {
        run: {
          suite: basename(suite.folder),
          suiteDigest: this.#suiteDigest,
          jobId,
          startedAt,
          endedAt,
          producer,
        },
        ...(sealer === undefined ? {} : { sealer }),
        scenarios: scenarios.map((each) => this.#inputOf(each)),
      },
      { hasher: nodeHasher, ...signed(signer) },
    );
    await writeBundle(path, bundle, { as: "tar", ...(signal === undefined ? {} : { signal }) });
    const { digest, statement } = bundle;
    return {
      path,
      digest,
      parts: statement.predicate.count,
      sizeBytes: sizeOf(bundle),
      secretsRemoved: scenarios.reduce((sum, each) => sum + (each.bundle?.secretsRemoved ?? 0), 0),
    };
  }

  #inputOf({ name, attempts, status, skipped, failure, bundle }: ScenarioReport): ScenarioInput {
    const named = { scenarioKey: name, scenarioAttempt: Math.max(1, attempts) };
    const sealed = this.#bundles.get(name);
    if (sealed !== undefined && sealed.digest === bundle?.digest)
      return { ...named, bundle: sealed };
    const reason = skipped ?? failure?.message ?? "the suite has more evidence than is kept";
    return {
      ...named,
      absent: reason.slice(0, MAX_REASON) || "nothing was said",
      status,
      ...(failure === undefined ? {} : { failure }),
    };
  }
}

/** Characters of a reason that a statement takes. */
const MAX_REASON = 2_000;

function signed(signer: Signer | undefined): { readonly signer?: Signer } {
  return signer === undefined ? {} : { signer };
}

function sizeOf({ files }: Pick<Bundle, "files">): number {
  return files.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** The files that make a suite, besides its scenarios. */
const OWN_FILE = /^(?:sub_goals\.json|state\.json|upheld\.config\.(?:mjs|js|ts))$/;

/** The digest of every file of a suite, by its place. What else lies in its folder is none of it. */
function digestOfSuite(folder: string): Digest {
  const own = readdirSync(folder, { withFileTypes: true }).filter(({ name }) =>
    OWN_FILE.test(name),
  );
  const scenarios = join(folder, "scenarios");
  const below = readdirSync(scenarios, { recursive: true, withFileTypes: true });
  const files = [...own, ...below].flatMap((entry) => {
    if (!entry.isFile()) return [];
    const path = join(entry.parentPath, entry.name);
    const sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
    return [{ path: relative(folder, path).split(sep).join("/"), sha256 }];
  });
  return fingerprint(files.toSorted((left, right) => (left.path < right.path ? -1 : 1)));
}
