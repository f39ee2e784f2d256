import { Problem } from '@flotilla/protocol/problem'
import { hopByHopHeaders } from '../fetch/hop-by-hop.ts'

/** Methods whose forwarded request always has a body, even if the client announces none. */
const bodied: readonly string[] = ['POST', 'PUT', 'PATCH']
const via = ['Via', '1.1 flotilla']

/**
 * Returns the headers of a forwarded request, names and values in turn, with new framing and addressed to `host`.
 * Throws the problem `bad-request` for a protocol upgrade, because the filter cannot inspect what follows it. Pure.
 */
export function onwardRequestHeaders(
  request: { readonly method: string; readonly rawHeaders: readonly string[] },
  host: string,
): string[] {
  const pairs = pairsOf(request.rawHeaders)
  refuseUpgrade(pairs)
  const isChunked = hasBodyHeader(pairs, 'transfer-encoding')
  const hasLength = hasBodyHeader(pairs, 'content-length')
  const framing = isChunked
    ? ['Transfer-Encoding', 'chunked']
    : !hasLength && bodied.includes(request.method)
      ? ['Content-Length', '0']
      : []
  return [...endToEndRequestHeaders(request, host), ...framing, ...via, 'Connection', 'close']
}

/**
 * Returns the headers of a forwarded request without framing and connection, for a client that adds both. Throws like
 * `onwardRequestHeaders`. Pure.
 */
export function inspectedRequestHeaders(
  request: { readonly rawHeaders: readonly string[] },
  host: string,
): { readonly headers: string[]; readonly hasBody: boolean } {
  const pairs = pairsOf(request.rawHeaders)
  refuseUpgrade(pairs)
  const hasBody = hasBodyHeader(pairs, 'transfer-encoding') || hasBodyHeader(pairs, 'content-length')
  return { headers: [...endToEndRequestHeaders(request, host), ...via], hasBody }
}

/**
 * Returns the headers of a request that opens a WebSocket, without connection and upgrade, for a client that adds both.
 * Throws the problem `bad-request` if it upgrades to another protocol or has a body. Pure.
 */
export function webSocketRequestHeaders(
  request: { readonly method?: string | undefined; readonly rawHeaders: readonly string[] },
  host: string,
): string[] {
  const pairs = pairsOf(request.rawHeaders)
  const protocols = pairs.filter(([name]) => name.toLowerCase() === 'upgrade').map(([, value]) => value)
  const isWebSocket = protocols.length === 1 && protocols[0]?.trim().toLowerCase() === 'websocket'
  if (
    request.method !== 'GET' ||
    !isWebSocket ||
    hasBodyHeader(pairs, 'transfer-encoding') ||
    hasBodyHeader(pairs, 'content-length')
  ) {
    throw new Problem('bad-request', {
      detail: 'the only change of protocol inside an inspected connection is to a WebSocket, without a body',
    })
  }
  return [...endToEndRequestHeaders(request, host), ...via]
}

function endToEndRequestHeaders(
  request: { readonly rawHeaders: readonly string[] },
  host: string,
): readonly string[] {
  return ['Host', host, ...endToEnd(pairsOf(request.rawHeaders), ['host', 'expect']).flat()]
}

function hasBodyHeader(pairs: readonly Pair[], header: string): boolean {
  return pairs.some(([name]) => name.toLowerCase() === header)
}

function refuseUpgrade(pairs: readonly Pair[]): void {
  const protocols = pairs.filter(([name]) => name.toLowerCase() === 'upgrade').map(([, value]) => value)
  if (protocols.some((value) => value.trim().toLowerCase() !== 'h2c')) {
    throw new Problem('bad-request', {
      detail: 'a change of protocol is only possible through CONNECT; use https or wss',
    })
  }
}

/** Returns the headers of an answer that the client gets, as a list in which each name precedes its value. Pure. */
export function returnedHeaders(rawHeaders: readonly string[]): string[] {
  return [...endToEnd(pairsOf(rawHeaders), []).flat(), ...via]
}

type Pair = readonly [name: string, value: string]

/**
 * Removes headers about the connection, by our list and by the sender's `Connection` header. The length of the body
 * stays.
 */
function endToEnd(pairs: readonly Pair[], more: readonly string[]): readonly Pair[] {
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((name) => name.trim())
    .filter((name) => name !== 'content-length')
  const dropped = new Set([...hopByHopHeaders, ...more, ...named])
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase()))
}

function pairsOf(raw: readonly string[]): readonly Pair[] {
  const pairs: Pair[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return pairs
}
