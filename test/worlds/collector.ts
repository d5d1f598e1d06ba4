import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProjectName, createToken, type Scope } from "../../src/server/auth.ts";
import {
  openCollectorStore,
  startCollector,
  type CollectorOptions,
  type CollectorPlace,
  type CollectorStore,
} from "../../src/server/collector.ts";
import type { ContractCollector } from "../../src/testing/collector/probe.ts";

export const shop = ProjectName.parse("shop");
export const bank = ProjectName.parse("bank");

/** The real collector in this process, over a folder of its own; what it failed at is kept. */
export class CollectorWorld implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "upheld-collector-"));
  readonly failures: unknown[] = [];
  readonly #store: Promise<CollectorStore>;

  constructor(place: Omit<CollectorPlace, "folder"> = {}) {
    this.#store = openCollectorStore({ folder: this.folder, ...place });
  }

  get store(): Promise<CollectorStore> {
    return this.#store;
  }

  async token(project: ProjectName = shop, scopes: readonly Scope[] = ["ingest"]): Promise<string> {
    const { database } = await this.#store;
    return (await createToken(database, { project, scopes, label: "test" })).token;
  }

  /** Starts to answer, with a token that may deliver for the shop. */
  async start(options: Partial<CollectorOptions> = {}): Promise<ContractCollector> {
    const token = await this.token();
    const listening = await startCollector(await this.#store, {
      host: "127.0.0.1",
      port: 0,
      version: "0.0.0",
      onFailure: (error) => this.failures.push(error),
      ...options,
    });
    return { ...listening, token };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#store)[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface Answered {
  readonly status: number;
  readonly body: unknown;
}

/** One request, its answer read as JSON where there is one. */
export async function ask(
  url: string,
  token: string,
  options: RequestInit = {},
): Promise<Answered> {
  const headers = new Headers(options.headers);
  headers.set("authorization", `Bearer ${token}`);
  const response = await fetch(url, { ...options, headers });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}
