import type { Clock } from '@flotilla/protocol/clock'
import type { LocalServer } from '@flotilla/protocol/setup-api'
import type { PinnedFetch } from '@flotilla/egress/egress'
import { isModelList, modelNamesIn } from '@flotilla/inference/models'
import type { LocalPlace } from './local-places.ts'

/** Local servers answer within this time, even while they load a model. */
const probeTimeoutMs = 2000
/** The maximum size of a list of models; longer answers are rejected. */
const listMaxBytes = 1024 * 1024

/**
 * Asks all addresses for their lists of models in parallel. It sends only `GET /v1/models`, without keys or data,
 * because any program may listen there. Throws only the reason of the signal.
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
    () => late.abort(new Error('the server did not answer in time')),
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

/** Reads the list of models at an address; null if the answer is not from a model server. */
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
