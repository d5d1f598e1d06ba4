import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ArtifactPolicy } from "../../evidence/artifact-kinds.ts";
import { announcedArtifact } from "../../evidence/announced-artifact.ts";
import { DELIVERY_ERRORS, type DeliveryError } from "../../evidence/delivery-answers.ts";
import { MAX_RECEIPT_BYTES, type Receipt } from "../../evidence/receipt.ts";
import { momentOf, strike, type CollectorFault } from "./fault.ts";
import { CollectorLedger, type Decision } from "./ledger.ts";
import { arrivedArtifact } from "./upload.ts";

/** One request that came in, and what was decided about it. */
export interface CollectorEvent {
  readonly on: "artifact" | "receipt";
  /** The artifact's or the receipt's digest; empty where it could not be read. */
  readonly digest: string;
  /** Null where a fault struck before anything was decided. */
  readonly decision: Decision | "unauthorized" | null;
  readonly fault: CollectorFault["kind"] | null;
}

export interface StandInOptions {
  /** Default "token". */
  readonly token?: string;
  readonly policy?: Partial<ArtifactPolicy>;
  /** What goes wrong, a request each, in their order. */
  readonly faults?: readonly CollectorFault[];
  /** Scenarios that are expected; without it, all are. */
  readonly scenarios?: readonly string[];
}

/** A collector that keeps nothing beyond its life, and goes wrong as it is told. */
export interface CollectorStandIn extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** Every request, in the order in which it was decided. */
  readonly events: readonly CollectorEvent[];
  /** The receipts that count, one a scenario. */
  readonly receipts: readonly Receipt[];
  /** What goes wrong from now on, a request each, in place of what was to go wrong. */
  fail(...faults: readonly CollectorFault[]): void;
}

/** Starts a stand-in on loopback that keeps the protocol of `docs/spec/receipts.md`. */
export async function startCollectorStandIn(
  options: StandInOptions = {},
): Promise<CollectorStandIn> {
  const collector = new StandIn(options);
  const server = createServer((request, response) => {
    collector.answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    token: collector.token,
    events: collector.events,
    get receipts() {
      return collector.receipts;
    },
    fail: (...faults) => void collector.faults.splice(0, Infinity, ...faults),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Route {
  readonly on: CollectorEvent["on"];
  readonly digest: string;
  readonly work: () => Promise<Outcome>;
}

type Outcome = Pick<CollectorEvent, "digest" | "decision">;

class StandIn {
  readonly token: string;
  readonly events: CollectorEvent[] = [];
  readonly faults: CollectorFault[];
  readonly #ledger: CollectorLedger;
  readonly #scenarios: readonly string[] | undefined;

  constructor({ token = "token", policy, faults = [], scenarios }: StandInOptions) {
    this.token = token;
    this.faults = [...faults];
    this.#ledger = new CollectorLedger(policy);
    this.#scenarios = scenarios;
  }

  get receipts(): readonly Receipt[] {
    return this.#ledger.receipts;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = this.#routeOf(request);
    if (route === null) {
      request.resume();
      response.writeHead(404).end();
      return;
    }
    const fault = this.faults.shift();
    const outcome = await this.#outcomeOf(request, route, fault);
    this.events.push({ on: route.on, ...outcome, fault: fault?.kind ?? null });
    if (fault === undefined) reply(response, outcome);
    else strike(fault, response);
  }

  #routeOf(request: IncomingMessage): Route | null {
    const { method, url = "" } = request;
    const hex = /^\/v1\/artifacts\/([0-9a-f]{64})$/.exec(url)?.[1];
    if (method === "PUT" && hex !== undefined)
      return { on: "artifact", digest: `sha256:${hex}`, work: () => this.#artifact(request, hex) };
    return method === "POST" && url === "/v1/receipts"
      ? { on: "receipt", digest: "", work: () => this.#receipt(request) }
      : null;
  }

  async #outcomeOf(
    request: IncomingMessage,
    { digest, work }: Route,
    fault: CollectorFault | undefined,
  ): Promise<Outcome> {
    const moment = fault === undefined ? "answer" : momentOf(fault);
    if (moment === "answer") return this.#authorized(request, work);
    if (moment === "work") await drained(request);
    return { digest, decision: null };
  }

  async #authorized(request: IncomingMessage, work: () => Promise<Outcome>): Promise<Outcome> {
    if (request.headers.authorization === `Bearer ${this.token}`) return work();
    await drained(request);
    return { digest: "", decision: "unauthorized" };
  }

  async #artifact(request: IncomingMessage, hex: string): Promise<Outcome> {
    const digest = `sha256:${hex}`;
    const announced = announcedArtifact(request.headers, hex);
    const refusal =
      announced === null
        ? "header_invalid"
        : (this.#unexpected(announced.attempt.scenarioKey) ?? this.#ledger.refusalOf(announced));
    if (announced === null || refusal !== null) {
      await drained(request);
      return { digest, decision: refusal ?? "header_invalid" };
    }
    return { digest, decision: this.#ledger.artifact(await arrivedArtifact(request, announced)) };
  }

  async #receipt(request: IncomingMessage): Promise<Outcome> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const piece of request as AsyncIterable<Uint8Array>) {
      size += piece.length;
      if (size <= MAX_RECEIPT_BYTES + 1) pieces.push(piece);
    }
    if (size > MAX_RECEIPT_BYTES) return { digest: "", decision: "receipt_too_large" };
    const { decision, receipt } = this.#ledger.receipt(Buffer.concat(pieces));
    return { digest: receipt?.digest ?? "", decision };
  }

  #unexpected(scenario: string): DeliveryError | null {
    return this.#scenarios?.includes(scenario) === false ? "scenario_unknown" : null;
  }
}

/** Reads what nobody wants, so that the answer can be read by a sender that still sends. */
async function drained(request: IncomingMessage): Promise<void> {
  request.resume();
  if (!request.complete)
    await new Promise((resolve) => request.once("close", resolve).once("end", resolve));
}

function reply(response: ServerResponse, { digest, decision }: Outcome): void {
  const head = { "content-type": "application/json" };
  if (decision === "stored" || decision === "duplicate") {
    response
      .writeHead(decision === "stored" ? 201 : 200, head)
      .end(JSON.stringify({ status: decision, digest }));
    return;
  }
  const code = decision ?? "unauthorized";
  response.writeHead(DELIVERY_ERRORS[code].status, head).end(JSON.stringify({ error: { code } }));
}
