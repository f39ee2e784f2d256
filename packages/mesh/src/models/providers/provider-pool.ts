import { Pool } from 'undici'

export interface ProviderTimeouts {
  readonly connectMs: number
  /** From the request to the first header; a call that is not streamed has its whole answer in this. */
  readonly headersMs: number
  /** Longest silence within the body. */
  readonly bodyIdleMs: number
}

const providerTimeouts: ProviderTimeouts = {
  connectMs: 10_000,
  headersMs: 120_000,
  bodyIdleMs: 120_000,
}

/** Connections to one provider; further calls wait for a free one. */
const connectionsMax = 256
/** Of one answer, names and values together. */
const headersMaxBytes = 16 * 1024
/** Below what load balancers commonly close at, so that a call does not meet a closing connection. */
const keepAliveMs = 30_000

/** Connections to one provider's origin, and to no other. */
export function openProviderPool(origin: string, timeouts?: Partial<ProviderTimeouts>): Pool {
  const chosen = { ...providerTimeouts, ...timeouts }
  return new Pool(origin, {
    connections: connectionsMax,
    keepAliveTimeout: keepAliveMs,
    connect: { timeout: chosen.connectMs },
    maxHeaderSize: headersMaxBytes,
    headersTimeout: chosen.headersMs,
    bodyTimeout: chosen.bodyIdleMs,
  })
}
