import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { UpheldError } from "../core/errors.ts";

/** Milliseconds that requests in flight are given when the collector stops. */
const STOP_TIMEOUT_MS = 10_000;
/** Milliseconds without a byte after which a connection is closed. */
const IDLE_TIMEOUT_MS = 60_000;
/** Milliseconds in which a request must have come in whole. */
const REQUEST_TIMEOUT_MS = 600_000;

/** A collector that answers at an address. Disposing it takes no new request and waits for those in flight. */
export interface Listening extends AsyncDisposable {
  readonly url: string;
  readonly isLoopback: boolean;
}

/** Opens the address. Throws "address_unavailable" where it cannot be had. */
export async function listen(
  app: Hono,
  address: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void listener(request, response));
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = IDLE_TIMEOUT_MS;
  server.setTimeout(IDLE_TIMEOUT_MS);
  await opened(server, address);
  const bound = boundTo(server);
  const host = bound.family === "IPv6" ? `[${bound.address}]` : bound.address;
  return {
    url: `http://${host}:${bound.port}`,
    isLoopback: isLoopbackAddress(bound.address),
    [Symbol.asyncDispose]: () => closed(server),
  };
}

/** Whether an address of this machine is one that no other machine reaches. */
export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || address === "localhost" || /^(::ffff:)?127\./.test(address);
}

function opened(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      reject(
        new UpheldError("address_unavailable", `${host}:${port} cannot be listened on`, { cause }),
      );
    });
    server.listen(port, host, resolve);
  });
}

function boundTo(server: Server): AddressInfo {
  const address = server.address();
  if (address !== null && typeof address === "object") return address;
  throw new UpheldError("internal", "the server has no address");
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}
