import type { Clock } from '@flotilla/protocol/clock'
import type { LocalServer } from '@flotilla/protocol/setup-api'
import type { PinnedFetch } from '../egress/index.ts'
import { isModelList, modelNamesIn } from '../models/index.ts'
import type { LocalPlace } from './local-places.ts'

/** On this machine: what is there answers at once, also while it loads a model. */
const probeTimeoutMs = 2000
/** Of a list of models; what is longer is none. */
const listMaxBytes = 1024 * 1024

/**
 * Asks each place for its list of models, all at once. Nothing but `GET /v1/models` is sent, and nothing of ours; whatever
 * answers is a stranger until it is such a list. Never throws but for the signal's reason.
 */
export async function findLocalServers(
  { fetchAt, clock }: { readonly fetchAt: (places: readonly string[]) => PinnedFetch; readonly clock: Clock },
  places: readonly LocalPlace[],
  signal: AbortSignal,
): Promise<LocalServer[]> {
  const fetch = fetchAt(places.map(({ place }) => place))
  return await Promise.all(places.map((place) => probe({ fetch, clock, signal }, place)))
}

async function probe(
  {
    fetch,
    clock,
    signal: outer,
  }: { readonly fetch: PinnedFetch; readonly clock: Clock; readonly signal: AbortSignal },
  { name, title, place }: LocalPlace,
): Promise<LocalServer> {
  const baseUrl = `http://${place}/v1`
  const server = { name, title, base_url: baseUrl }
  const late = new AbortController()
  const done = new AbortController()
  clock.sleep(probeTimeoutMs, done.signal).then(
    () => late.abort(new Error('too slow for this machine')),
    () => {},
  )
  try {
    const text = await listAt(fetch, new URL(`${baseUrl}/models`), AbortSignal.any([outer, late.signal]))
    if (text === null || !isModelList(text)) return { ...server, state: 'other', models: [] }
    const models = [...modelNamesIn(text)]
    return { ...server, state: models.length === 0 ? 'empty' : 'found', models }
  } catch {
    outer.throwIfAborted()
    return { ...server, state: late.signal.aborted ? 'other' : 'absent', models: [] }
  } finally {
    done.abort()
  }
}

/** Null where it is no answer of a model server. */
async function listAt(fetch: PinnedFetch, url: URL, signal: AbortSignal): Promise<string | null> {
  const reply = await fetch({ url, method: 'GET', headers: { accept: 'application/json' }, body: '' }, signal)
  try {
    if (reply.status !== 200) return null
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of reply.body) {
      signal.throwIfAborted()
      bytes += chunk.length
      if (bytes > listMaxBytes) return null
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  } finally {
    await reply.close()
  }
}
