import { createHash } from 'node:crypto'
import { request as openRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import {
  browserActionData,
  browserActionReplySchema,
  browserClosedSchema,
  browserLimits,
  browserPictureSchema,
  browserProofSubject,
  browserServiceEndpoints as endpoints,
  browserStatusSchema,
  captchaAnsweredSchema,
  watchModeSchema,
} from '@flotilla/protocol/browser-service-api'
import type { BrowserAction } from '@flotilla/protocol/browser-service-api'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { readJson } from '@flotilla/foundation/intake'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { BrowserService, OpenBrowserService } from './browser-service.ts'

/** The time limit of calls to the browser service that carry out no action, in milliseconds. */
const shortCallMs = 10_000
/** Extra time beyond an action's deadline in which the browser can report the timeout itself. */
const deadlineGraceMs = 5000
/** The maximum size of the response headers of the browser service, in bytes. */
const headersMaxBytes = 16 * 1024
/** The fixed GUID of the WebSocket handshake (RFC 6455). */
const webSocketGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

interface Call {
  readonly endpoint: Endpoint
  readonly params?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * ADAPTER of `browser-service.ts`: the service in the browser's container, over HTTP on the private network.
 * Answers are parsed on the agent's share of the loop.
 */
export function httpBrowserService(
  signFor: (subject: string) => string,
  loop: Pick<LoopShare, 'spend'>,
): OpenBrowserService {
  return (agentId, { host, port }): BrowserService => {
    const headers = () => ({ authorization: `Bearer ${signFor(browserProofSubject(agentId))}` })

    async function call<Schema extends z.core.$ZodType>(
      { endpoint, params, body, timeoutMs, signal: gone }: Call,
      schema: Schema,
    ): Promise<z.output<Schema>> {
      const sent = body === undefined ? null : Buffer.from(JSON.stringify(body))
      const late = AbortSignal.timeout(timeoutMs)
      const signal = AbortSignal.any([gone, late])
      try {
        const reply = await new Promise<IncomingMessage>((resolve, reject) => {
          const request = openRequest({
            host,
            port,
            method: endpoint.method,
            path: fillPath(endpoint.path, params ?? {}),
            headers: {
              ...headers(),
              ...(sent === null
                ? {}
                : { 'content-type': 'application/json', 'content-length': sent.byteLength }),
            },
            agent: false,
            maxHeaderSize: headersMaxBytes,
            signal,
          })
          request.once('response', resolve)
          request.once('error', reject)
          request.once('upgrade', (_reply, line) => line.destroy())
          request.end(sent ?? undefined)
        })
        const bytes = await readWhole(reply)
        if (reply.statusCode !== 200)
          throw failed(`the browser service answered with status ${reply.statusCode ?? 0}`)
        return loop.spend(agentId, () =>
          z.parse(schema, readJson(bytes.toString('utf8'), jsonLimits.agentReply)),
        )
      } catch (error) {
        if (gone.aborted) throw gone.reason
        if (late.aborted)
          throw new Problem('upstream-timeout', {
            detail: `the browser did not respond for ${Math.round(timeoutMs / 1000)} s`,
            cause: error,
          })
        if (error instanceof Problem && error.code === 'upstream-failed') throw error
        throw failed(
          error instanceof z.core.$ZodError || error instanceof Problem
            ? 'the answer of the browser service does not have the expected form'
            : 'the line to it broke off',
          error,
        )
      }
    }

    return {
      status: (signal) =>
        call({ endpoint: endpoints.status, timeoutMs: shortCallMs, signal }, browserStatusSchema),
      act: async (action, { params, deadlineMs, signal }) => {
        const reply = await call(
          {
            endpoint: endpoints.act,
            params: { action },
            body: { params, deadline_ms: deadlineMs },
            timeoutMs: deadlineMs + deadlineGraceMs,
            signal,
          },
          browserActionReplySchema,
        )
        if (!reply.ok) return reply
        return { ok: true, data: loop.spend(agentId, () => readData(action, reply.data)) }
      },
      answerCaptcha: async (answer, signal) => {
        const { answerCaptcha: endpoint } = endpoints
        const reply = await call(
          { endpoint, body: answer, timeoutMs: shortCallMs, signal },
          captchaAnsweredSchema,
        )
        return reply.answered
      },
      picture: async (signal) => {
        const { picture: endpoint } = endpoints
        const { image_base64: image } = await call(
          { endpoint, timeoutMs: shortCallMs, signal },
          browserPictureSchema,
        )
        return image === null ? null : Buffer.from(image, 'base64')
      },
      setWatchMode: async (mode, signal) => {
        const body = { mode }
        await call({ endpoint: endpoints.watchMode, body, timeoutMs: shortCallMs, signal }, watchModeSchema)
      },
      close: async (signal) => {
        await call({ endpoint: endpoints.close, timeoutMs: shortCallMs, signal }, browserClosedSchema)
      },
      screen: (watcher, { key, signal }) =>
        new Promise((resolve, reject) => {
          const request = openRequest({
            host,
            port,
            method: endpoints.vnc.method,
            path: `${endpoints.vnc.path}?watcher=${watcher}`,
            headers: {
              ...headers(),
              connection: 'Upgrade',
              upgrade: 'websocket',
              'sec-websocket-version': '13',
              'sec-websocket-key': key,
              'sec-websocket-protocol': 'binary',
            },
            agent: false,
            maxHeaderSize: headersMaxBytes,
            timeout: shortCallMs,
            signal,
          })
          request.once('timeout', () => request.destroy(failed('the screen of the browser did not respond')))
          request.once('error', (error) => reject(signal.aborted ? signal.reason : failedBy(error)))
          request.once('response', (reply) => {
            reply.destroy()
            reject(failed(`the screen of the browser answered with status ${reply.statusCode ?? 0}`))
          })
          request.once('upgrade', (reply, line: Socket, head) => {
            const accept = createHash('sha1').update(`${key}${webSocketGuid}`).digest('base64')
            const agreed =
              reply.headers['sec-websocket-accept'] === accept &&
              reply.headers['sec-websocket-protocol'] === 'binary' &&
              reply.headers['sec-websocket-extensions'] === undefined
            line.setTimeout(0)
            if (agreed) return resolve({ line, head, accept })
            line.destroy()
            reject(failed('the screen of the browser uses another protocol'))
          })
          request.end()
        }),
    }
  }
}

function readData(action: BrowserAction, data: unknown): Record<string, unknown> {
  const read = z.safeParse(browserActionData[action], data)
  if (!read.success)
    throw failed('the answer of the browser service does not have the expected form', read.error)
  return read.data
}

/** Reads the whole reply. Disconnects and throws `upstream-failed` if the reply is longer than any valid reply. */
async function readWhole(reply: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of reply) {
    const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk))
    size += bytes.byteLength
    if (size > browserLimits.bodyMaxBytes) {
      reply.destroy()
      throw failed(`the answer of the browser service is longer than ${browserLimits.bodyMaxBytes} bytes`)
    }
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

function failed(what: string, cause?: unknown): Problem {
  return new Problem('upstream-failed', {
    detail: `The browser failed: ${what}.`,
    cause,
  })
}

function failedBy(error: Error): Problem {
  return error instanceof Problem ? error : failed('the line to it broke off', error)
}
