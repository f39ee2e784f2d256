import type { Clock } from '@flotilla/protocol/clock'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUpgrade } from './event-socket.ts'
import type { KnownPeople } from './gates/known-people.ts'
import type { HumanGate } from './gates/people-gate.ts'

/** The longest single wait for the expiry of a token, in milliseconds; a timer of more than 24 days fires at once. */
const waitMaxMs = 24 * 3_600_000

/**
 * Closes open responses when their person is removed, gets a new token or fewer rights, or when the token
 * expires that they used. A stream of events would otherwise continue for as long as its reader likes. The
 * owner of the machine, without an entry in the file, is not affected.
 */
export function cutChangedPeople(deps: {
  readonly gate: HumanGate
  readonly people: Pick<KnownPeople, 'onChange'>
  readonly clock: Clock
}): (request: FastifyRequest, reply: FastifyReply) => void {
  const { gate, people, clock } = deps
  const open = new Map<FastifyReply, { readonly request: FastifyRequest; readonly was: string }>()

  function isAsItWas(request: FastifyRequest, was: string): boolean {
    try {
      return JSON.stringify(gate(request)) === was
    } catch {
      return false
    }
  }

  async function cutAt(expiresAt: number, cut: () => void, closed: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = expiresAt - clock.now()
      if (leftMs <= 0) return cut()
      await clock.sleep(Math.min(leftMs, waitMaxMs), closed)
    }
  }

  people.onChange(() => {
    for (const [reply, { request, was }] of open)
      if (!isAsItWas(request, was)) lineOf(request, reply).destroy()
  })
  return (request, reply) => {
    const caller = gate(request)
    if (caller.person === undefined) return
    open.set(reply, { request, was: JSON.stringify(caller) })
    const closed = new AbortController()
    const line = lineOf(request, reply)
    line.once('close', () => {
      open.delete(reply)
      closed.abort()
    })
    // `cutAt` rejects if the response ends before the token expires.
    if (caller.expiresAt !== undefined)
      cutAt(caller.expiresAt, () => void line.destroy(), closed.signal).catch(() => undefined)
  }
}

/** Returns what to close for a request: after an upgrade the socket, otherwise the response. */
function lineOf({ raw }: FastifyRequest, reply: FastifyReply) {
  return isUpgrade(raw) ? raw.socket : reply.raw
}
