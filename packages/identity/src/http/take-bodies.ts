import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonBody } from '@flotilla/foundation/intake'
import { bodyTooLarge } from './problem-reply.ts'
import type { createAgentGate } from './gates/agent-gate.ts'

/**
 * An empty body with a JSON content type counts as no body: schemas with required fields reject it, others
 * accept it.
 */
export function readBody(body: Buffer): unknown {
  return body.length === 0 ? undefined : readJsonBody(body, jsonLimits.body)
}

/**
 * Reads JSON bodies of agents' calls. Each received byte is counted, so that their total is bounded, and parsing with
 * `read` is charged to the agent; without `read` the bodies stay bytes. Runs after the gate has admitted the call.
 */
export function takeBodies(
  scope: FastifyInstance,
  gate: Pick<ReturnType<typeof createAgentGate>, 'hold' | 'spend' | 'turn'>,
  read?: (body: Buffer) => unknown,
): void {
  scope.removeContentTypeParser('application/json')
  scope.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: IncomingMessage) => {
      const body = await gather(request, payload, (bytes) => gate.hold(request, bytes))
      if (read === undefined) return body
      const turn = gate.turn(request)
      if (turn !== null) await turn
      return gate.spend(request, () => read(body))
    },
  )
}

function gather(
  request: FastifyRequest,
  payload: IncomingMessage,
  hold: (bytes: number) => void,
): Promise<Buffer> {
  const maxBytes = request.routeOptions.bodyLimit
  const parts: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      reject(bodyTooLarge(maxBytes))
      return
    }
    const take = (part: Buffer): void => {
      try {
        size += part.length
        if (size > maxBytes) throw bodyTooLarge(maxBytes)
        hold(part.length)
        parts.push(part)
      } catch (error) {
        parts.length = 0
        payload.off('data', take)
        payload.pause()
        reject(error)
      }
    }
    payload.on('data', take)
    payload.once('end', () => resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, size)))
    payload.once('error', reject)
    payload.once('close', () => {
      // Creates the problem only if the body is incomplete: its stack trace would add 1 % to every call's time.
      if (!payload.readableEnded) reject(new Problem('bad-request', { detail: 'the body broke off' }))
    })
  })
}
