import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUpgrade } from './event-socket.ts'
import type { KnownPeople } from './gates/known-people.ts'
import type { HumanGate } from './gates/people-gate.ts'

/**
 * Answers that are under way when somebody is removed, rotated or may less are cut off: a stream of events would else go
 * on for as long as its reader likes. Who is the owner of the machine, by no entry of the file, is left alone.
 */
export function cutChangedPeople(
  gate: HumanGate,
  people: Pick<KnownPeople, 'onChange'>,
): (request: FastifyRequest, reply: FastifyReply) => void {
  const open = new Map<FastifyReply, { readonly request: FastifyRequest; readonly was: string }>()

  function isAsItWas(request: FastifyRequest, was: string): boolean {
    try {
      return JSON.stringify(gate(request)) === was
    } catch {
      return false
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
    lineOf(request, reply).once('close', () => void open.delete(reply))
  }
}

/** What a socket is made of is no answer any more: its line is all that is left of the request. */
function lineOf({ raw }: FastifyRequest, reply: FastifyReply) {
  return isUpgrade(raw) ? raw.socket : reply.raw
}
