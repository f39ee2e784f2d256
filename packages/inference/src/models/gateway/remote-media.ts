import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { Problem, withChanges } from '@flotilla/protocol/problem'
import type { Caller } from '@flotilla/identity/access'
import { placeOf } from '../formats/prompt/closed-form.ts'
import { mediaTypeOf } from '../formats/prompt/media-data.ts'
import type { PromptFound, RemoteMedia } from '../formats/prompt/prompt-found.ts'
import { badRequest } from '../formats/json-body.ts'
import type { Hold } from './reply-body.ts'

/**
 * Fetches a public address on behalf of an agent, by the rules of `http_request`; `hold` counts each received byte.
 * Throws the Problems of `http_request`, errors of `hold`, `denied` without that permission, and `bad-request` for a
 * larger file or an error status.
 */
export type FetchMedia = (
  caller: Caller,
  request: { readonly url: string; readonly maxBytes: number; readonly hold?: Hold | undefined },
  signal: AbortSignal,
) => Promise<Uint8Array>

/** The bound for all remote media of one call together: as base64 they fit into a body of the model API. */
export const remoteMediaMaxBytes = 3 * 1024 * 1024

interface MediaCaller {
  readonly caller: Caller
  readonly signal: AbortSignal
  readonly hold?: Hold | undefined
}

/**
 * Replaces remote media in a call by their data, because no provider may fetch for an agent. Throws `bad-request` for
 * media of the wrong kind, and the errors of `fetchMedia`, each with the position.
 */
export async function withRemoteMedia<
  Call extends { readonly forwarded: JsonObject; readonly prompt: PromptFound },
>(
  deps: { readonly fetchMedia: FetchMedia },
  call: Call,
  { caller, signal, hold }: MediaCaller,
): Promise<Call> {
  const { remote } = call.prompt
  if (remote.length === 0) return call
  let forwarded: JsonValue = call.forwarded
  let dataBytes = call.prompt.dataBytes
  let left = remoteMediaMaxBytes
  for (const media of remote) {
    const bytes = await fetched(deps, media, { caller, signal, hold, maxBytes: left })
    left -= bytes.length
    const type = mediaTypeOf(bytes, media.kind)
    if (type === null) {
      const expected = media.kind === 'image' ? 'a PNG, JPEG, GIF or WebP picture' : 'a PDF document'
      throw badRequest(`${placeOf(media.path)}: the file at this address is not ${expected}`)
    }
    const data = Buffer.from(bytes).toString('base64')
    // The fetched bytes are counted already; base64 is longer, so only the difference is added.
    hold?.(data.length - bytes.length)
    dataBytes += data.length
    const value =
      media.as === 'address' ? `data:${type};base64,${data}` : { type: 'base64', media_type: type, data }
    forwarded = withValueAt(forwarded, media.path, value)
  }
  return { ...call, forwarded, prompt: { ...call.prompt, dataBytes, remote: [] } }
}

async function fetched(
  { fetchMedia }: { readonly fetchMedia: FetchMedia },
  { url, path }: RemoteMedia,
  by: MediaCaller & { readonly maxBytes: number },
): Promise<Uint8Array> {
  try {
    return await fetchMedia(by.caller, { url, maxBytes: by.maxBytes, hold: by.hold }, by.signal)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw withChanges(error, { detail: `${placeOf(path)}: ${error.detail}` })
  }
}

function withValueAt(
  tree: JsonValue,
  [step, ...rest]: readonly (string | number)[],
  value: JsonValue,
): JsonObject {
  if (step === undefined) return value as JsonObject
  const copy = (Array.isArray(tree) ? [...(tree as readonly JsonValue[])] : { ...(tree as JsonObject) }) as {
    [name: string | number]: JsonValue
  }
  copy[step] = withValueAt(copy[step] ?? null, rest, value)
  return copy
}
