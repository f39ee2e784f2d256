import { jsonLimits } from '@flotilla/protocol/limits'
import type { FormData } from 'undici'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import type { Secret } from '@flotilla/egress/credentials'
import { ChannelFailure } from '../../adapter.ts'
import { failureOfDownload } from '../call-failure.ts'
import type { PlatformHttp } from '../platform-http.ts'
import { graphFailure } from './graph-failure.ts'

/** The maximum size of an answer of WhatsApp's API, in bytes. */
const answerBytesMax = 256 * 1024

/** The other host from which Meta serves files. */
const mediaHost = 'lookaside.fbsbx.com'

/** Calls of the Graph API with the access token. Each call rejects with a `ChannelFailure`. */
export interface GraphClient {
  readonly get: (path: string, signal: AbortSignal) => Promise<unknown>
  readonly post: (path: string, body: object, signal: AbortSignal) => Promise<unknown>
  readonly upload: (path: string, form: FormData, signal: AbortSignal) => Promise<unknown>
  /** Downloads a file from a URL of Meta. Only Meta's hosts are allowed, because the token is sent. */
  readonly download: (address: string, maxBytes: number, signal: AbortSignal) => Promise<Uint8Array>
}

export function createGraphClient(http: PlatformHttp, root: string, token: Secret): GraphClient {
  const { origin } = new URL(root)
  const authorized = () => ({ authorization: `Bearer ${token.reveal()}` })

  async function ask(
    path: string,
    {
      method,
      body,
      headers,
    }: {
      readonly method: 'GET' | 'POST'
      readonly body: string | FormData | null
      readonly headers: Record<string, string>
    },
    signal: AbortSignal,
  ): Promise<unknown> {
    signal.throwIfAborted()
    const url = new URL(`${root}/${path}`)
    const call = { method, url, headers: { ...authorized(), ...headers }, body, maxBytes: answerBytesMax }
    const { status, headers: answered, body: bytes } = await http.call(call, signal)
    const answer = readJsonQuietly(bytes, jsonLimits.serverReply)
    if (status < 200 || status > 299) throw graphFailure(status, answer, answered['retry-after'])
    return answer
  }

  return {
    get: (path, signal) => ask(path, { method: 'GET', body: null, headers: {} }, signal),
    post: (path, body, signal) =>
      ask(
        path,
        { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
        signal,
      ),
    upload: (path, form, signal) => ask(path, { method: 'POST', body: form, headers: {} }, signal),
    download: async (address, maxBytes, signal) => {
      const url = URL.canParse(address) ? new URL(address) : null
      if (url === null || (url.origin !== origin && url.origin !== `https://${mediaHost}`)) {
        throw new ChannelFailure('refused', 'the file is at an address that is not Meta’s')
      }
      const { status, headers, body } = await http.call(
        { method: 'GET', url, headers: authorized(), body: null, maxBytes },
        signal,
      )
      if (status !== 200) throw failureOfDownload('WhatsApp', status, headers['retry-after'])
      return body
    },
  }
}
